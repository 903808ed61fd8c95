// Sockets under the HTTP server: the listening one, one per connection, and the signal that stops
// them all. Only POSIX and TLS here, no HTTP.

#ifndef CAIRN_HTTP_SOCKET_H_
#define CAIRN_HTTP_SOCKET_H_

#include <sys/types.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <memory>
#include <mutex>
#include <string>

#include "base/result.h"
#include "http/tls.h"

namespace cairn {

// A number that others can wait on with poll(): readable once it has been added to.
// Thread-safe; Add() may also be called in a signal handler.
class WakeFd {
 public:
  // `counting`: every Add() is taken by one Take(). Otherwise it stays readable for ever.
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

// Raised once when the server is to end.
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

  // Listens on `host` (a name or an address) and `port` (0: any free one). With `loopback_only` a
  // host that other machines can reach is refused.
  Status Open(const std::string& host, int port, bool loopback_only);

  // Waits for a connection; returns its descriptor, or -1 once `stop` is raised. `remote` becomes
  // the address of the other side.
  int Accept(const StopSignal& stop, std::string* remote);

  void Close();
  int port() const { return port_; }

 private:
  int fd_ = -1;
  int port_ = 0;
};

// Says whether the other side of a connection is still there. Outlives the connection: once that
// is closed the answer is that it is gone. Thread-safe.
class PeerWatch {
 public:
  PeerWatch(int fd, std::shared_ptr<const StopSignal> stop) : fd_(fd), stop_(std::move(stop)) {}

  // True when the client has closed its side, the connection is over, or the server is stopping.
  // A client that only shuts down its sending side counts as gone.
  bool Gone() const;

  // Closes the descriptor.
  void Close();

 private:
  mutable std::mutex mutex_;
  int fd_;  // guarded by mutex_; -1 once closed
  const std::shared_ptr<const StopSignal> stop_;
};

struct SocketTimeouts {
  int read_ms = 30'000;      // silence while a request is being read
  int header_ms = 10'000;    // the headers, from their first byte on
  int request_ms = 600'000;  // a request whose headers are there
  int write_ms = 30'000;     // a client that takes no more bytes
};

// How long to wait for a client to take note of the last answer and close.
struct Linger {
  int silence_ms;
  int total_ms;
};

// One accepted connection; owns its descriptor. Used by one thread; watch() goes anywhere.
//
// The headers of a request, and under TLS the handshake, are part of waiting for it: a client that
// is slow with them idles, and goes when another wants its place. Nobody has shown a key until
// then.
class Connection {
 public:
  // `certificate`: what to speak TLS with; null: plain.
  Connection(int fd, std::string remote, std::shared_ptr<const StopSignal> stop,
             const SocketTimeouts& timeouts, const TlsCertificate* certificate = nullptr);
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  // kTooLong: more than kHeaderBytesMax, and no end of the headers. kNotHttp: the first line is
  // none of HTTP.
  enum class Wait { kData, kWoken, kTimeout, kClosed, kTooLong, kNotHttp };
  static constexpr size_t kHeaderBytesMax = size_t{16} << 10;
  // Waits until the headers of the next request are there.
  // `wake_fd` (or -1) ends the wait early; what came until then stays.
  Wait WaitForRequest(int timeout_ms, int wake_fd);
  // Starts the clock of `request_ms` and drops empty lines that some clients send in between.
  // Returns false when only such lines were there, so that there is no request yet.
  bool BeginRequest();
  bool HasBufferedBytes() const {
    return buffer_begin_ < buffer_end_ || (tls_ != nullptr && tls_->HasBytes());
  }
  // Whether the client spoke plain HTTP where TLS is spoken. From then on Write writes plain too.
  bool FellBackToPlain();

  // Bytes read (at least 1), 0 at the end of the input, -1 for an error, a timeout or a stop.
  ssize_t Read(char* bytes, size_t size);
  // Bytes taken (at least 1), or -1.
  ssize_t Write(const char* bytes, size_t size);
  bool WaitReadable();
  bool WaitWritable();

  // Ends our side and reads on for a moment, so that a client that is still sending gets to see
  // the answer; closing at once would reset the connection under it.
  void LingerBriefly(const Linger& linger);

  int fd() const { return fd_; }
  const std::string& remote() const { return remote_; }
  const std::shared_ptr<PeerWatch>& watch() const { return watch_; }

 private:
  using TimePoint = std::chrono::steady_clock::time_point;

  // What the socket needs before more can be done with it.
  using Wants = TlsLayer::Wants;
  // One try, which waits for nothing; as TlsLayer's Read and Write.
  ssize_t TryReceive(char* bytes, size_t size, Wants* wants);
  ssize_t TrySend(const char* bytes, size_t size, Wants* wants);
  bool WaitFor(Wants wants);
  enum class Headers { kPart, kWhole, kNotHttp };
  Headers LookAtHeaders();
  ssize_t Receive(char* bytes, size_t size);

  const int fd_;
  const std::string remote_;
  const std::shared_ptr<const StopSignal> stop_;
  const SocketTimeouts timeouts_;
  const std::shared_ptr<PeerWatch> watch_;
  std::unique_ptr<TlsLayer> tls_;  // null: plain
  bool lost_ = false;              // TLS was to be spoken, and there was no memory for it
  TimePoint request_deadline_ = TimePoint::max();
  TimePoint header_deadline_ = TimePoint::max();  // from the first byte of a request on
  // What was received and not yet read: bytes of a next request may already be here.
  char buffer_[kHeaderBytesMax];
  size_t buffer_begin_ = 0;
  size_t buffer_end_ = 0;
  size_t looked_at_ = 0;  // of the buffer, for the end of the headers
};

}  // namespace cairn

#endif  // CAIRN_HTTP_SOCKET_H_
