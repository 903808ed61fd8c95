// Exchange: a request in progress on a connection, and the HTTP library that parses it and formats
// its answer. Only server.cc includes this.

#ifndef CAIRN_HTTP_EXCHANGE_H_
#define CAIRN_HTTP_EXCHANGE_H_

#include <httplib.h>

#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/log.h"
#include "http/browsers.h"
#include "http/connections/socket.h"
#include "http/request_seats.h"
#include "http/router.h"
#include "http/server.h"

namespace cairn {

// StreamSource: adapts a handler's stream to the HTTP library, shared by the provider and the
// releaser of one answer.
//
// Threads: the connection's.
class StreamSource {
 public:
  StreamSource(StreamBody body, LogSink log) : body_(std::move(body)), log_(std::move(log)) {}

  // The library's provider: writes one chunk into `sink`. Returns false to end the connection.
  template <typename Sink>
  bool Provide(Sink& sink) {
    std::string chunk;
    bool more = false;
    try {
      more = body_.next(&chunk);
    } catch (const std::exception& e) {
      if (log_) log_(LogLevel::kError, std::string("a stream failed: ") + e.what());
      return false;
    } catch (...) {
      if (log_) log_(LogLevel::kError, "a stream failed: it threw something unknown");
      return false;
    }
    ended_ = !more;
    if (!chunk.empty() && !sink.write(chunk.data(), chunk.size())) return false;
    if (!more) sink.done();
    return true;  // the library checks that the client is still there before the next call
  }

  void Release() {
    if (ended_ || !body_.on_gone) return;
    ended_ = true;
    try {
      body_.on_gone();
    } catch (...) {
      if (log_) log_(LogLevel::kError, "a stream's on_gone threw");
    }
  }

 private:
  StreamBody body_;
  const LogSink log_;
  bool ended_ = false;
};

// A request in progress. The library's callbacks carry no context of ours, but the connection's
// thread serves only this request, so a thread-local pointer identifies it.
struct Exchange {
  Connection* connection = nullptr;
  std::shared_ptr<const PeerWatch> watch;
  std::string method;
  std::string content_type;  // the request's, see Prepare()
  std::string path;
  RouteMatch match;
  uint32_t key_number = 0;
  std::shared_ptr<void> at_work;             // the count of its key, see KeyLoad
  std::unique_ptr<RequestSeats::Seat> seat;  // null: refused, or answered without one
  bool last = false;                         // the connection ends after this answer
  HttpHeaders cors_headers;
  bool preflight = false;  // answered by headers alone
  // An answer that needs no handler and no body: 401, 403, 404, 405, 413, 429, 501, 503.
  int refusal_status = 0;
  std::string refusal_message;
  std::vector<std::pair<std::string, std::string>> refusal_headers;
  std::string error_message;         // the handler's, see HttpResponse
  bool close = false;                // close the connection after this answer
  std::shared_ptr<void> until_sent;  // see HttpResponse
  size_t bytes = 0;                  // see HttpServerOptions::on_end

  void RefuseWith(int status, std::string message) {
    refusal_status = status;
    refusal_message = std::move(message);
  }
};

// Adapts a connection to the library's Stream.
class ConnectionStream final : public httplib::Stream {
 public:
  ConnectionStream(Connection* connection, Exchange* exchange)
      : connection_(connection), exchange_(exchange) {}

  bool is_readable() const override { return connection_->HasBufferedBytes(); }
  bool wait_readable() const override {
    return connection_->HasBufferedBytes() || connection_->WaitReadable();
  }
  bool wait_writable() const override { return connection_->WaitWritable(); }
  bool is_peer_alive() const override { return !connection_->watch()->Gone(); }
  ssize_t read(char* bytes, size_t size) override {
    // When an error is answered, the library would still wait for the rest of the body.
    return exchange_->close ? -1 : Counted(connection_->Read(bytes, size));
  }
  ssize_t write(const char* bytes, size_t size) override {
    return Counted(connection_->Write(bytes, size));
  }
  void get_remote_ip_and_port(std::string& ip, int& port) const override {
    ip = connection_->remote();
    port = 0;
  }
  void get_local_ip_and_port(std::string& ip, int& port) const override {
    ip.clear();
    port = 0;
  }
  socket_t socket() const override { return connection_->fd(); }
  time_t duration() const override { return 0; }

 private:
  ssize_t Counted(ssize_t moved) {
    if (moved > 0) exchange_->bytes += static_cast<size_t>(moved);
    return moved;
  }

  Connection* const connection_;
  Exchange* const exchange_;
};

// The library's server without its listener.
class HttpParser : public httplib::Server {
 public:
  HttpParser() { svr_sock_ = 0; }  // any descriptor but "invalid": not stopping

  // Makes streamed answers end after their current chunk.
  void CutStreams() { svr_sock_ = INVALID_SOCKET; }

  // Reads and answers one request. Returns whether the connection can be kept.
  bool ServeOne(httplib::Stream* stream, const std::string& remote,
                const std::function<void(httplib::Request&)>& setup) {
    bool closed = false;
    return process_request(*stream, remote, 0, "", 0, /*close_connection=*/false, closed, setup) &&
           !closed;
  }
};

}  // namespace cairn

#endif  // CAIRN_HTTP_EXCHANGE_H_
