// Sockets under the HTTP server: the listening socket, the connections, and the signal that stops
// them all. POSIX and TLS only, no HTTP.

#ifndef CAIRN_HTTP_CONNECTIONS_SOCKET_H_
#define CAIRN_HTTP_CONNECTIONS_SOCKET_H_

#include <poll.h>
#include <sys/types.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/mutex.h"
#include "base/result.h"
#include "http/connections/tls.h"

namespace cairn {

// A counter that others can wait on with poll(): readable after Add(). Thread-safe; Add() may also
// be called in a signal handler.
class WakeFd {
 public:
  // With `counting`, each Take() undoes one Add(). Otherwise it stays readable for ever.
  explicit WakeFd(bool counting);
  ~WakeFd();
  WakeFd(const WakeFd&) = delete;
  WakeFd& operator=(const WakeFd&) = delete;

  void Add() noexcept;
  void Take() noexcept;
  int fd() const { return fd_; }

 private:
  const int fd_;
};

// Raised once when the server must stop.
class StopSignal {
 public:
  void Raise() noexcept {
    raised_.store(true);
    wake_.Add();
  }
  bool raised() const noexcept { return raised_.load(); }
  int fd() const { return wake_.fd(); }

 private:
  std::atomic<bool> raised_ = false;
  WakeFd wake_{/*counting=*/false};
};

// The listening socket.
class Listener {
 public:
  Listener() = default;
  ~Listener() { Close(); }
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;

  // Listens on `host` (a name or an address) and `port` (0: any free one), or where
  // IsSocketPath(host) on that Unix socket, which Close removes. With `loopback_only`, refuses a
  // host that other machines can reach.
  Status Open(const std::string& host, int port, bool loopback_only);

  // Waits for a connection; returns its descriptor, or -1 once `stop` is raised. Sets `remote` to
  // the peer's address.
  int Accept(const StopSignal& stop, std::string* remote);

  void Close();
  int port() const { return port_; }

 private:
  Status OpenPath(const std::string& path);

  int fd_ = -1;
  int port_ = 0;
  std::string path_;  // of the Unix socket; empty: none
};

// Whether a host is the path of a Unix socket: it ends with .sock, as llama-server has it.
bool IsSocketPath(std::string_view host);
// Returns the address for people to copy: "http://127.0.0.1:8080", "http://[::1]:8080", or
// "unix:/run/cairn.sock".
std::string UrlOf(bool tls, const std::string& host, int port);

// Pace: whether a client sends its request, or takes its answer, fast enough.
//
// The time that is waited for it counts, and each byte makes up for some of it:
//
//   lag = time waited - bytes / least rate, and never below 0
//
// A client whose lag reaches the longest pause is too slow. So it may pause once for that long, but
// a byte now and then holds no connection.
//
// Threads: one.
class Pace {
 public:
  Pace(double pause_ms_max, size_t bytes_per_s_min)
      : pause_ms_max_(pause_ms_max),
        bytes_per_ms_min_(static_cast<double>(bytes_per_s_min) / 1000) {}

  void Wait(double ms) { lag_ms_ += ms; }
  void Move(size_t bytes) {
    if (bytes_per_ms_min_ <= 0) {
      lag_ms_ = 0;
      return;
    }
    lag_ms_ = std::max(lag_ms_ - static_cast<double>(bytes) / bytes_per_ms_min_, 0.0);
  }
  void Restart() { lag_ms_ = 0; }

  double lag_ms() const { return lag_ms_; }
  // How long the client may still be waited for; 0: it is too slow.
  double left_ms() const { return std::max(pause_ms_max_ - lag_ms_, 0.0); }

 private:
  const double pause_ms_max_;
  const double bytes_per_ms_min_;  // 0: any byte makes up for all
  double lag_ms_ = 0;
};

// The client is waited for: to send more of its body, or to take more of the answer.
enum class ClientWait : uint8_t { kReceives, kSends };

// Told of the times for which a request waits for its client; it may end them.
class ClientWaits {
 public:
  virtual ~ClientWaits() = default;
  // Before a wait, with the client's lag (see Pace). Returns false if the request must end.
  virtual bool Begin(ClientWait wait, double lag_ms) = 0;
  // After it; likewise.
  virtual bool End() = 0;
};

// Tells whether the peer of a connection is still there. May outlive the connection: the peer
// counts as gone once it is closed. Thread-safe.
class PeerWatch {
 public:
  PeerWatch(int fd, std::shared_ptr<const StopSignal> stop) : fd_(fd), stop_(std::move(stop)) {}

  // Returns true if the client has closed its side, the connection is over, or the server is
  // stopping. A client that only shuts down its sending side counts as gone.
  bool Gone() const;

  // Wakes the connection's thread from its wait for the client. After kReceives an answer can still
  // be sent.
  void EndWait(ClientWait wait) const;

  // Closes the descriptor.
  void Close();

 private:
  mutable Mutex mutex_;
  int fd_ GUARDED_BY(mutex_);  // -1 once closed
  const std::shared_ptr<const StopSignal> stop_;
};

struct SocketTimeouts {
  int read_ms = 30'000;           // pause within a request, see Pace
  int header_ms = 10'000;         // the headers, from their first byte on
  int request_ms = 600'000;       // the rest of a request, after its headers
  int write_ms = 30'000;          // a client that accepts no more bytes; a pause likewise
  size_t bytes_per_s_min = 1024;  // the least rate of bodies and answers; 0: none
};

// Limits for how long a client may take to read the last answer and close.
struct Linger {
  int silence_ms;
  int total_ms;
};

// One accepted connection; owns its descriptor. Used by one thread; watch() may be used anywhere.
//
// Receiving the headers of a request, and the TLS handshake, count as waiting for the request: a
// client that is slow with them is idle and is dropped when its seat is needed, as no key has been
// seen yet.
class Connection {
 public:
  // `certificate` is used for TLS; null means plain HTTP.
  Connection(int fd, std::string remote, std::shared_ptr<const StopSignal> stop,
             const SocketTimeouts& timeouts, const TlsCertificate* certificate = nullptr);
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  // kTooLong: more than kHeaderBytesMax bytes without an end of the headers. kNotHttp: the first
  // line is not an HTTP request line.
  enum class Wait { kData, kWoken, kTimeout, kClosed, kTooLong, kNotHttp };
  static constexpr size_t kHeaderBytesMax = size_t{16} << 10;
  // Waits until the headers of the next request are in the buffer. `wake_fd` (or -1) ends the wait
  // early; bytes received until then are kept.
  Wait WaitForRequest(int timeout_ms, int wake_fd);
  // Starts the timeout `request_ms` and the client's paces, and drops empty lines that some clients
  // send between requests. Returns false if there were only such lines, so that there is no request
  // yet.
  bool BeginRequest();
  bool HasBufferedBytes() const {
    return buffer_begin_ < buffer_end_ || (tls_ != nullptr && tls_->HasBytes());
  }
  // Returns whether the client sent plain HTTP to a TLS port. If so, Write also writes plain bytes
  // from then on.
  bool FellBackToPlain();

  // Returns the number of bytes read (at least 1), 0 at the end of the input, or -1 for an error, a
  // timeout or a stop.
  ssize_t Read(char* bytes, size_t size);
  // Returns the number of bytes taken (at least 1), or -1.
  ssize_t Write(const char* bytes, size_t size);
  bool WaitReadable();
  bool WaitWritable();
  // Tells `waits` of all waits for the client from now on; null: nobody. It outlives them.
  void SetWaits(ClientWaits* waits) { waits_ = waits; }

  // Shuts down our side and reads on for a moment, so that a client that is still sending receives
  // the answer; closing at once would reset the connection. `wake_fd` (or -1) ends it early.
  void LingerBriefly(const Linger& linger, int wake_fd = -1);

  int fd() const { return fd_; }
  const std::string& remote() const { return remote_; }
  const std::shared_ptr<PeerWatch>& watch() const { return watch_; }

 private:
  using TimePoint = std::chrono::steady_clock::time_point;

  // The readiness that the socket needs before the next try.
  using Wants = TlsLayer::Wants;
  // Tries once without waiting; as TlsLayer's Read and Write.
  ssize_t TryReceive(char* bytes, size_t size, Wants* wants);
  ssize_t TrySend(const char* bytes, size_t size, Wants* wants);
  bool WaitFor(Wants wants);
  // Polls for `wait`, for at most `ms_max`. Sets `fds`, the socket's first; returns false once the
  // request must end: after a timeout, or told so by waits_.
  bool PollForClient(ClientWait wait, int64_t ms_max, pollfd (&fds)[2]);
  enum class Headers { kPart, kWhole, kNotHttp };
  Headers LookAtHeaders();
  ssize_t Receive(char* bytes, size_t size);

  const int fd_;
  const std::string remote_;
  const std::shared_ptr<const StopSignal> stop_;
  const SocketTimeouts timeouts_;
  const std::shared_ptr<PeerWatch> watch_;
  std::unique_ptr<TlsLayer> tls_;  // null: plain
  bool lost_ = false;              // TLS was needed, and there was no memory for it
  ClientWaits* waits_ = nullptr;
  Pace receiving_;  // of the request's body
  Pace sending_;    // of its answer
  TimePoint request_deadline_ = TimePoint::max();
  TimePoint header_deadline_ = TimePoint::max();  // counted from the first byte of a request
  // Bytes that were received and not read yet; may include bytes of the next request.
  char buffer_[kHeaderBytesMax];
  size_t buffer_begin_ = 0;
  size_t buffer_end_ = 0;
  size_t looked_at_ = 0;  // bytes of the buffer searched for the end of the headers
};

}  // namespace cairn

#endif  // CAIRN_HTTP_CONNECTIONS_SOCKET_H_
