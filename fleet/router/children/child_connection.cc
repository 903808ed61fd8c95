#include "fleet/router/children/child_connection.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <optional>

#include "base/text.h"

namespace cairn {
namespace {

constexpr size_t kHeadBytesMax = size_t{64} << 10;
constexpr int kSendMs = 30'000;  // limit for a server that takes no bytes
constexpr std::string_view kLineEnd = "\r\n";

std::string RequestText(const ChildRequest& request) {
  std::string text = request.method + " " + request.target + " HTTP/1.1\r\nHost: localhost\r\n";
  for (const auto& [name, value] : request.headers) text.append(name + ": " + value + "\r\n");
  text += "Connection: close\r\nContent-Length: " + std::to_string(request.body.size());
  return text + "\r\n\r\n";
}

std::string_view TakeHeadLine(std::string_view* text) {
  const size_t end = std::min(text->find(kLineEnd), text->size());
  const std::string_view line = text->substr(0, end);
  text->remove_prefix(std::min(end + kLineEnd.size(), text->size()));
  return line;
}

std::optional<uint64_t> ParseHex(std::string_view text) {
  uint64_t number = 0;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), number, 16);
  if (text.empty() || parsed.ec != std::errc()) return std::nullopt;
  return number;  // a chunk's extension may follow
}

}  // namespace

std::string_view ChildAnswerHead::Header(std::string_view name) const {
  return FindIgnoringCase(headers, name);
}

Result<std::unique_ptr<ChildConnection>> ChildConnection::Send(int port,
                                                               const ChildRequest& request) {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0) {
    return Fail(ErrorCode::kUnavailable, std::string("cannot make a socket: ") + strerror(errno));
  }
  std::unique_ptr<ChildConnection> connection(new ChildConnection(fd, request.method != "HEAD"));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof(address)) != 0) {
    const auto code = errno == ECONNREFUSED ? ErrorCode::kNotFound : ErrorCode::kUnavailable;
    return Fail(code, std::string("cannot connect: ") + strerror(errno));
  }
  const int on = 1;
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
  // A server that refuses a body may answer before it has read it all: then the answer counts.
  if (!connection->SendAll(RequestText(request)) || !connection->SendAll(request.body)) {
    pollfd answer = {fd, POLLIN, 0};
    if (poll(&answer, 1, 0) <= 0 || (answer.revents & POLLIN) == 0) {
      return Fail(ErrorCode::kUnavailable, "the connection was closed");
    }
  }
  return connection;
}

ChildConnection::~ChildConnection() {
  close(fd_);
}

bool ChildConnection::SendAll(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t n = send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (n > 0) {
      bytes.remove_prefix(static_cast<size_t>(n));
    } else if (errno == EAGAIN) {
      pollfd writable = {fd_, POLLOUT, 0};
      if (poll(&writable, 1, kSendMs) == 0) return false;
    } else if (errno != EINTR) {
      return false;
    }
  }
  return true;
}

ChildConnection::Step ChildConnection::Receive(int wait_ms) {
  pollfd readable = {fd_, POLLIN, 0};
  const int ready = poll(&readable, 1, wait_ms);
  if (ready < 0 && errno != EINTR) return Step::kBroken;
  if (ready <= 0) return Step::kNothing;
  std::array<char, 16384> buffer;
  const ssize_t n = recv(fd_, buffer.data(), buffer.size(), MSG_DONTWAIT);
  if (n < 0) return errno == EAGAIN || errno == EINTR ? Step::kNothing : Step::kBroken;
  if (n == 0) return Step::kEnd;
  received_.append(buffer.data(), static_cast<size_t>(n));
  return Step::kMore;
}

ChildConnection::Step ChildConnection::ReadHead(int wait_ms) {
  constexpr std::string_view kHeadEnd = "\r\n\r\n";
  const Step step = Receive(wait_ms);
  if (step == Step::kBroken || step == Step::kEnd) return Step::kBroken;
  const size_t end = received_.find(kHeadEnd);
  if (end == std::string::npos) {
    return received_.size() > kHeadBytesMax ? Step::kBroken : Step::kNothing;
  }
  const std::string text = received_.substr(0, end);
  received_.erase(0, end + kHeadEnd.size());
  return ParseHead(text) ? Step::kMore : Step::kBroken;
}

bool ChildConnection::ParseHead(std::string_view text) {
  const std::string_view status_line = TakeHeadLine(&text);
  if (!status_line.starts_with("HTTP/1.1 ") || status_line.size() < 12) return false;
  const auto status = ParseNumber(status_line.substr(9, 3));
  if (!status) return false;
  head_.status = static_cast<int>(*status);
  while (!text.empty()) {
    const std::string_view line = TakeHeadLine(&text);
    const size_t colon = line.find(':');
    if (colon == std::string_view::npos) return false;
    head_.headers.emplace_back(line.substr(0, colon), Trimmed(line.substr(colon + 1)));
  }
  head_.streams = SameIgnoringCase(head_.Header("Transfer-Encoding"), "chunked");
  if (!head_.streams) {
    const std::string_view length = head_.Header("Content-Length");
    body_left_ = length.empty() ? 0 : ParseNumber(length).value_or(0);
  }
  return true;
}

ChildConnection::Step ChildConnection::ReadBody(int wait_ms, std::string* body) {
  if (!expects_body_) return Step::kEnd;
  const size_t size_before = body->size();
  Step step = TakeBody(body);
  if (step != Step::kNothing) return step;
  const Step received = Receive(wait_ms);
  if (received == Step::kEnd) return Step::kBroken;
  if (received != Step::kMore) return received;
  step = TakeBody(body);
  return step == Step::kNothing && body->size() > size_before ? Step::kMore : step;
}

// Moves what was received of the body. kNothing: there is no more of it for now.
ChildConnection::Step ChildConnection::TakeBody(std::string* body) {
  if (head_.streams) return TakeChunks(body);
  const size_t taken = static_cast<size_t>(std::min<uint64_t>(body_left_, received_.size()));
  body->append(received_, 0, taken);
  received_.erase(0, taken);
  body_left_ -= taken;
  if (body_left_ == 0) return Step::kEnd;
  return taken > 0 ? Step::kMore : Step::kNothing;
}

ChildConnection::Step ChildConnection::TakeChunks(std::string* body) {
  std::string_view text = received_;
  Step step = Step::kNothing;
  while (step != Step::kEnd && step != Step::kBroken) {
    if (!in_chunk_) {
      const size_t end = text.find(kLineEnd);
      if (end == std::string_view::npos) break;
      const auto size = ParseHex(TakeHeadLine(&text));
      if (!size) return Step::kBroken;
      body_left_ = *size;
      in_chunk_ = true;
      if (*size == 0) step = Step::kEnd;  // no trailers follow, and nothing else is asked for
      continue;
    }
    const size_t taken = static_cast<size_t>(std::min<uint64_t>(body_left_, text.size()));
    body->append(text.substr(0, taken));
    text.remove_prefix(taken);
    body_left_ -= taken;
    if (taken > 0) step = Step::kMore;
    if (body_left_ > 0 || text.size() < kLineEnd.size()) break;
    if (!text.starts_with(kLineEnd)) return Step::kBroken;
    text.remove_prefix(kLineEnd.size());
    in_chunk_ = false;
  }
  received_.erase(0, received_.size() - text.size());
  return step;
}

}  // namespace cairn
