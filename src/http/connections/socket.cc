#include "http/connections/socket.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <utility>

#include "base/check.h"
#include "base/net/loopback.h"

namespace cairn {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

// How long a client may still take bytes after the server was told to stop.
constexpr int kStopWriteMs = 500;

// As much as the system holds of an answer that it cannot send yet, because the client has no room
// for more. By default it takes megabytes, so that nobody would see that a client reads slowly.
// What is under way to the client does not count, so a fast client is as fast as before.
constexpr int kUnsentBytesMax = 16 << 10;

// As poll(), but continues after a signal.
int PollAgain(pollfd* fds, nfds_t count, int timeout_ms) {
  const auto deadline = steady_clock::now() + milliseconds(timeout_ms);
  for (;;) {
    const int ready = poll(fds, count, timeout_ms);
    if (ready >= 0 || errno != EINTR) return ready;
    const auto left =
        std::chrono::duration_cast<milliseconds>(deadline - steady_clock::now()).count();
    timeout_ms = static_cast<int>(std::max<int64_t>(left, 0));
  }
}

Error BindError(const std::string& host, int port, int error) {
  const std::string place = "port " + std::to_string(port) + " on " + host;
  switch (error) {
    case EADDRINUSE:
      return {ErrorCode::kUnavailable, place + " is in use; choose another port with --port"};
    case EACCES:
      return {ErrorCode::kInvalidArgument,
              place + " needs privileges; choose a port above 1023 with --port"};
    case EADDRNOTAVAIL:
      return {ErrorCode::kInvalidArgument,
              host + " is not an address of this machine; choose another with --host"};
    default:
      return {ErrorCode::kUnavailable, "cannot listen on " + place + ": " + std::strerror(error)};
  }
}

// Returns a listening descriptor, or minus the error number.
int OpenListening(const addrinfo& info) {
  const int fd = socket(info.ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) return -errno;
  // Lets a restarted server reuse its port at once. SO_REUSEPORT would let two servers share a port
  // unnoticed, so it stays off.
  const int on = 1;
  setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
  if (bind(fd, info.ai_addr, info.ai_addrlen) == 0 && listen(fd, SOMAXCONN) == 0) return fd;
  const int error = errno;
  close(fd);
  return -error;
}

int PortOf(int fd) {
  sockaddr_storage address{};
  socklen_t size = sizeof(address);
  if (getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size) != 0) return 0;
  if (address.ss_family == AF_INET6) {
    return ntohs(reinterpret_cast<sockaddr_in6*>(&address)->sin6_port);
  }
  return ntohs(reinterpret_cast<sockaddr_in*>(&address)->sin_port);
}

std::string AddressOf(const sockaddr_storage& address, socklen_t size) {
  if (address.ss_family == AF_UNIX) return "unix";
  char host[NI_MAXHOST];
  char port[NI_MAXSERV];
  if (getnameinfo(reinterpret_cast<const sockaddr*>(&address), size, host, sizeof(host), port,
                  sizeof(port), NI_NUMERICHOST | NI_NUMERICSERV) != 0) {
    return "unknown";
  }
  if (address.ss_family == AF_INET6) return "[" + std::string(host) + "]:" + port;
  return std::string(host) + ":" + port;
}

// A server that was killed leaves its socket behind; nobody listens at it.
void RemoveStale(const sockaddr_un& address) {
  struct stat status{};
  if (lstat(address.sun_path, &status) != 0 || !S_ISSOCK(status.st_mode)) return;
  const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) return;
  const int failed = connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof(address));
  if (failed != 0 && errno == ECONNREFUSED) unlink(address.sun_path);
  close(fd);
}

}  // namespace

bool IsSocketPath(std::string_view host) {
  return host.ends_with(".sock");
}

std::string UrlOf(bool tls, const std::string& host, int port) {
  if (IsSocketPath(host)) return "unix:" + host;
  const bool brackets = host.find(':') != std::string::npos && !host.starts_with('[');
  return std::string(tls ? "https" : "http") + "://" + (brackets ? "[" + host + "]" : host) + ":" +
         std::to_string(port);
}

WakeFd::WakeFd(bool counting)
    : fd_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK | (counting ? EFD_SEMAPHORE : 0))) {
  CHECK(fd_ >= 0);
}

WakeFd::~WakeFd() {
  close(fd_);
}

void WakeFd::Add() noexcept {
  const uint64_t one = 1;
  const ssize_t written = write(fd_, &one, sizeof(one));
  static_cast<void>(written);  // it can only fail because it is full, and then it is readable
                               // already
}

void WakeFd::Take() noexcept {
  uint64_t taken = 0;
  const ssize_t bytes = read(fd_, &taken, sizeof(taken));
  static_cast<void>(bytes);  // another thread may have been faster
}

Status Listener::Open(const std::string& host, int port, bool loopback_only) {
  if (IsSocketPath(host)) return OpenPath(host);
  if (port < 0 || port > 65535) {
    return Fail(ErrorCode::kInvalidArgument,
                "port " + std::to_string(port) + " is out of range; --port takes 0 to 65535");
  }
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
  addrinfo* found = nullptr;
  const int failed = getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &found);
  if (failed != 0) {
    return Fail(
        ErrorCode::kInvalidArgument,
        "--host " + host + " is not a known name or address (" + gai_strerror(failed) + ")");
  }
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> infos(found, freeaddrinfo);
  int error = EADDRNOTAVAIL;
  for (const addrinfo* info = found; info != nullptr; info = info->ai_next) {
    if (loopback_only && !IsLoopback(info->ai_addr)) {
      return Fail(ErrorCode::kInvalidArgument,
                  "listening on " + host +
                      " needs --api-key, because other machines can reach it; without a key use "
                      "--host 127.0.0.1, or --insecure to accept everyone");
    }
  }
  for (const addrinfo* info = found; info != nullptr; info = info->ai_next) {
    const int fd = OpenListening(*info);
    if (fd >= 0) {
      Close();
      fd_ = fd;
      port_ = PortOf(fd);
      return {};
    }
    error = -fd;
    if (error == EADDRINUSE) break;  // so that it does not end up on ::1 when 127.0.0.1 is meant
  }
  return tl::unexpected<Error>(BindError(host, port, error));
}

Status Listener::OpenPath(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof(address.sun_path)) {
    return Fail(ErrorCode::kInvalidArgument,
                "--host " + path + " is too long for a Unix socket; at most " +
                    std::to_string(sizeof(address.sun_path) - 1) + " bytes are possible");
  }
  std::memcpy(address.sun_path, path.data(), path.size());
  RemoveStale(address);
  const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd >= 0 && bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0 &&
      listen(fd, SOMAXCONN) == 0) {
    Close();
    fd_ = fd;
    port_ = 0;
    path_ = path;
    return {};
  }
  const int error = errno;
  if (fd >= 0) close(fd);
  if (error == EADDRINUSE) {
    return Fail(ErrorCode::kUnavailable,
                path + " is there already, and it is in use or no socket; choose another --host");
  }
  return Fail(ErrorCode::kInvalidArgument,
              "cannot listen on the Unix socket " + path + ": " + std::strerror(error));
}

int Listener::Accept(const StopSignal& stop, std::string* remote) {
  for (;;) {
    pollfd fds[] = {{fd_, POLLIN, 0}, {stop.fd(), POLLIN, 0}};
    PollAgain(fds, 2, -1);
    if (stop.raised()) return -1;
    sockaddr_storage address{};
    socklen_t size = sizeof(address);
    const int fd = accept4(fd_, reinterpret_cast<sockaddr*>(&address), &size, SOCK_CLOEXEC);
    if (fd >= 0) {
      // Tokens are small and must be sent without waiting for more data.
      const int on = 1;
      setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
      setsockopt(fd, IPPROTO_TCP, TCP_NOTSENT_LOWAT, &kUnsentBytesMax, sizeof(kUnsentBytesMax));
      *remote = AddressOf(address, size);
      return fd;
    }
    if (errno == EAGAIN || errno == EINTR || errno == ECONNABORTED) continue;
    // Descriptors or memory are exhausted. That passes, so wait instead of ending the listener.
    PollAgain(&fds[1], 1, 50);
  }
}

void Listener::Close() {
  if (fd_ >= 0) close(fd_);
  fd_ = -1;
  if (!path_.empty()) unlink(path_.c_str());
  path_.clear();
}

bool PeerWatch::Gone() const {
  if (stop_->raised()) return true;
  const MutexLock lock(mutex_);
  if (fd_ < 0) return true;
  pollfd peer = {fd_, POLLRDHUP, 0};
  return PollAgain(&peer, 1, 0) != 0;
}

void PeerWatch::EndWait(ClientWait wait) const {
  const MutexLock lock(mutex_);
  // poll() returns then.
  if (fd_ >= 0) shutdown(fd_, wait == ClientWait::kReceives ? SHUT_RD : SHUT_RDWR);
}

void PeerWatch::Close() {
  const MutexLock lock(mutex_);
  if (fd_ >= 0) close(fd_);
  fd_ = -1;
}

Connection::Connection(int fd, std::string remote, std::shared_ptr<const StopSignal> stop,
                       const SocketTimeouts& timeouts, const TlsCertificate* certificate)
    : fd_(fd),
      remote_(std::move(remote)),
      stop_(std::move(stop)),
      timeouts_(timeouts),
      watch_(std::make_shared<PeerWatch>(fd, stop_)),
      receiving_(timeouts.read_ms, timeouts.bytes_per_s_min),
      sending_(timeouts.write_ms, timeouts.bytes_per_s_min) {
  if (certificate == nullptr) return;
  tls_ = certificate->Accept(fd);
  lost_ = tls_ == nullptr;
}

Connection::~Connection() {
  if (tls_ != nullptr) tls_->End();
  watch_->Close();
}

bool Connection::FellBackToPlain() {
  if (tls_ == nullptr || !tls_->spoke_plain_http()) return false;
  tls_.reset();
  return true;
}

Connection::Headers Connection::LookAtHeaders() {
  std::string_view text(buffer_, buffer_end_);
  const size_t begin = text.find_first_not_of("\r\n");
  // Empty lines alone are dropped; input that consists of nothing else counts as complete.
  if (begin == std::string_view::npos) return text.empty() ? Headers::kPart : Headers::kWhole;
  constexpr std::string_view kEnd = "\r\n\r\n";
  const size_t from = looked_at_ > begin + kEnd.size() ? looked_at_ - kEnd.size() : begin;
  looked_at_ = text.size();
  if (text.find(kEnd, from) != std::string_view::npos) return Headers::kWhole;
  const size_t line = text.find('\n', begin);
  if (line == std::string_view::npos) return Headers::kPart;
  // The parser would wait for more input after a line that does not end as HTTP requires, although
  // no key has been seen yet.
  if (text[line - 1] != '\r') return Headers::kNotHttp;
  const bool is_request = text.substr(begin, line - begin).find(" HTTP/") != std::string_view::npos;
  return is_request ? Headers::kPart : Headers::kNotHttp;
}

Connection::Wait Connection::WaitForRequest(int timeout_ms, int wake_fd) {
  if (lost_) return Wait::kClosed;
  const auto deadline = steady_clock::now() + milliseconds(timeout_ms);
  // Moves the request to the buffer's start, so that all its headers fit.
  std::memmove(buffer_, buffer_ + buffer_begin_, buffer_end_ - buffer_begin_);
  buffer_end_ -= buffer_begin_;
  if (std::exchange(buffer_begin_, 0) > 0) looked_at_ = 0;
  // Bytes that TLS has taken from the socket are not visible to poll().
  bool is_there = tls_ != nullptr && tls_->HasBytes();
  short events = POLLIN;
  for (;;) {
    if (stop_->raised()) return Wait::kClosed;
    const Headers headers = LookAtHeaders();
    if (headers == Headers::kWhole) return Wait::kData;
    if (headers == Headers::kNotHttp) return Wait::kNotHttp;
    if (buffer_end_ == sizeof(buffer_)) return Wait::kTooLong;
    const auto now = steady_clock::now();
    if (buffer_end_ > 0 && header_deadline_ == TimePoint::max()) {
      header_deadline_ = now + milliseconds(timeouts_.header_ms);
    }
    if (now >= header_deadline_) return Wait::kClosed;
    if (!is_there) {
      const auto end = std::min(deadline, header_deadline_);
      const auto left = std::chrono::ceil<milliseconds>(end - now).count();
      pollfd fds[] = {{fd_, events, 0}, {stop_->fd(), POLLIN, 0}, {wake_fd, POLLIN, 0}};
      const int ready = PollAgain(fds, 3, static_cast<int>(std::max<int64_t>(left, 0)));
      if (stop_->raised() || ready < 0) return Wait::kClosed;
      if (ready == 0 && end == header_deadline_) return Wait::kClosed;
      if (ready == 0) return Wait::kTimeout;
      if (fds[0].revents == 0) return Wait::kWoken;
    }
    Wants wants = Wants::kNothing;
    const ssize_t n = TryReceive(buffer_ + buffer_end_, sizeof(buffer_) - buffer_end_, &wants);
    if (n <= 0 && wants == Wants::kNothing) return Wait::kClosed;
    if (n > 0) buffer_end_ += static_cast<size_t>(n);
    is_there = n > 0 && tls_ != nullptr && tls_->HasBytes();
    events = wants == Wants::kWritable ? POLLOUT : POLLIN;
  }
}

bool Connection::BeginRequest() {
  request_deadline_ = steady_clock::now() + milliseconds(timeouts_.request_ms);
  header_deadline_ = TimePoint::max();
  looked_at_ = 0;
  receiving_.Restart();
  sending_.Restart();
  while (buffer_begin_ < buffer_end_ &&
         (buffer_[buffer_begin_] == '\r' || buffer_[buffer_begin_] == '\n')) {
    ++buffer_begin_;
  }
  return buffer_begin_ < buffer_end_;
}

ssize_t Connection::TryReceive(char* bytes, size_t size, Wants* wants) {
  *wants = Wants::kNothing;
  if (tls_ != nullptr) {
    const ssize_t n = tls_->Read(bytes, size);
    if (n < 0) *wants = tls_->wants();
    return n;
  }
  const ssize_t n = recv(fd_, bytes, size, MSG_DONTWAIT);
  if (n < 0 && (errno == EAGAIN || errno == EINTR)) *wants = Wants::kReadable;
  return n;
}

ssize_t Connection::TrySend(const char* bytes, size_t size, Wants* wants) {
  *wants = Wants::kNothing;
  if (tls_ != nullptr) {
    const ssize_t n = tls_->Write(bytes, size);
    if (n < 0) *wants = tls_->wants();
    return n;
  }
  const ssize_t n = send(fd_, bytes, size, MSG_DONTWAIT | MSG_NOSIGNAL);
  if (n < 0 && (errno == EAGAIN || errno == EINTR)) *wants = Wants::kWritable;
  return n;
}

bool Connection::WaitFor(Wants wants) {
  if (wants == Wants::kNothing) return false;
  return wants == Wants::kReadable ? WaitReadable() : WaitWritable();
}

ssize_t Connection::Receive(char* bytes, size_t size) {
  for (;;) {
    Wants wants = Wants::kNothing;
    const ssize_t n = TryReceive(bytes, size, &wants);
    if (n >= 0) {
      receiving_.Move(static_cast<size_t>(n));
      return n;
    }
    if (!WaitFor(wants)) return -1;
  }
}

ssize_t Connection::Read(char* bytes, size_t size) {
  if (buffer_begin_ >= buffer_end_) {
    // Large reads bypass the buffer, so that a body is not copied twice.
    if (size >= sizeof(buffer_)) return Receive(bytes, size);
    const ssize_t n = Receive(buffer_, sizeof(buffer_));
    if (n <= 0) return n;
    buffer_begin_ = 0;
    buffer_end_ = static_cast<size_t>(n);
  }
  const size_t n = std::min(size, buffer_end_ - buffer_begin_);
  std::memcpy(bytes, buffer_ + buffer_begin_, n);
  buffer_begin_ += n;
  return static_cast<ssize_t>(n);
}

bool Connection::PollForClient(ClientWait wait, int64_t ms_max, pollfd (&fds)[2]) {
  const bool receives = wait == ClientWait::kReceives;
  Pace& pace = receives ? receiving_ : sending_;
  fds[0] = {fd_, static_cast<short>(receives ? POLLIN : POLLOUT), 0};
  fds[1] = {stop_->fd(), POLLIN, 0};
  if (PollAgain(fds, 2, 0) > 0) return true;
  if (waits_ != nullptr && !waits_->Begin(wait, pace.lag_ms())) return false;
  const auto began = steady_clock::now();
  const auto timeout_ms = std::min(ms_max, static_cast<int64_t>(std::ceil(pace.left_ms())));
  const int ready = PollAgain(fds, 2, static_cast<int>(std::max<int64_t>(timeout_ms, 0)));
  pace.Wait(std::chrono::duration<double, std::milli>(steady_clock::now() - began).count());
  if (waits_ != nullptr && !waits_->End()) return false;
  return ready > 0;
}

bool Connection::WaitReadable() {
  const auto left =
      std::chrono::duration_cast<milliseconds>(request_deadline_ - steady_clock::now()).count();
  pollfd fds[2];
  // The limits hold for a client that always has a byte ready, too.
  if (left <= 0 || receiving_.left_ms() <= 0) return false;
  return PollForClient(ClientWait::kReceives, left, fds) && !stop_->raised();
}

bool Connection::WaitWritable() {
  pollfd fds[2];
  if (!PollForClient(ClientWait::kSends, timeouts_.write_ms, fds)) return false;
  if ((fds[0].revents & (POLLERR | POLLHUP)) != 0) return false;
  if ((fds[0].revents & POLLOUT) != 0) return true;
  // While stopping, an answer may still be sent, but only for a short time.
  return PollAgain(fds, 1, kStopWriteMs) > 0 && (fds[0].revents & POLLOUT) != 0;
}

ssize_t Connection::Write(const char* bytes, size_t size) {
  for (;;) {
    Wants wants = Wants::kNothing;
    const ssize_t n = TrySend(bytes, size, &wants);
    if (n >= 0) {
      sending_.Move(static_cast<size_t>(n));
      return n;
    }
    if (!WaitFor(wants)) return -1;
  }
}

void Connection::LingerBriefly(const Linger& linger, int wake_fd) {
  if (tls_ != nullptr) tls_->End();
  shutdown(fd_, SHUT_WR);
  const auto deadline = steady_clock::now() + milliseconds(linger.total_ms);
  char discarded[16384];
  for (;;) {
    const auto left =
        std::chrono::duration_cast<milliseconds>(deadline - steady_clock::now()).count();
    if (left <= 0) return;
    pollfd fds[] = {{fd_, POLLIN, 0}, {stop_->fd(), POLLIN, 0}, {wake_fd, POLLIN, 0}};
    if (PollAgain(fds, 3, static_cast<int>(std::min<int64_t>(left, linger.silence_ms))) <= 0 ||
        stop_->raised() || fds[2].revents != 0) {
      return;
    }
    if (recv(fd_, discarded, sizeof(discarded), MSG_DONTWAIT) <= 0) return;
  }
}

}  // namespace cairn
