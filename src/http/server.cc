// The HTTP library parses requests and formats answers (its process_request), over our Stream.
// Accepting, threads, timeouts, pipelining and closing are ours (http/connections/socket.h,
// http/connections/connection_pool.h), because the library's listener shares ports, has a backlog
// of five and ends on a transient error of accept().

#include "http/server.h"

#include <httplib.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <exception>
#include <utility>

#include "base/check.h"
#include "base/process/threads.h"
#include "base/text.h"
#include "http/connections/connection_pool.h"
#include "http/connections/socket.h"
#include "http/exchange.h"
#include "http/keys.h"
#include "http/request_seats.h"
#include "http/router.h"
#include "http/server_words.h"

namespace cairn {
namespace {

// How long a refused or failed client may read its answer before the connection is closed.
constexpr Linger kLingerAfterError = {.silence_ms = 500, .total_ms = 5000};
constexpr Linger kLingerAfterRefusal = {.silence_ms = 200, .total_ms = 200};
// Limit for the handshake and the request of a refused client under TLS, which its refusal follows.
constexpr int kRefusedRequestMs = 500;
// A connection that has sent nothing for this long after it was opened counts as idle.
constexpr int kFirstByteMs = 100;
thread_local Exchange* current_exchange = nullptr;

// Returns the number of the key that the request has; 0: none, or a wrong one.
ApiKeys::Number KeyOf(const ApiKeys& keys, const httplib::Request& request) {
  const auto number = keys.Match(BearerToken(request.get_header_value("Authorization")));
  return number != 0 ? number : keys.Match(request.get_header_value("x-api-key"));
}

}  // namespace

std::string_view HttpRequest::Header(std::string_view name) const {
  return FindIgnoringCase(headers, name);
}

class HttpServer::Impl {
 public:
  explicit Impl(HttpServerOptions options);

  void Handle(const std::string& method, const std::string& path, HttpHandler handler,
              HttpAccess access) {
    CHECK(method == "GET" || method == "POST" || method == "PUT" || method == "PATCH" ||
          method == "DELETE" || method == "OPTIONS");
    router_.Add(method, path);
    routes_.push_back({std::move(handler), access});
    route_names_ = router_.Names();
  }
  std::vector<std::string> RouteNames() const { return route_names_; }
  HttpResponse Call(HttpRequest request) const;
  Status Bind();
  int port() const { return listener_.port(); }
  void Serve();
  void Stop() {
    stop_->Raise();
    parser_.CutStreams();
  }

 private:
  struct Route {
    HttpHandler handler;
    HttpAccess access;
  };

  bool has_keys() const { return options_.keys != nullptr && !options_.keys->empty(); }
  void InstallCallbacks();
  // Decides on a request after its headers and before its body were read.
  void Prepare(httplib::Request& request, Exchange* exchange) const;
  void CheckBrowser(const httplib::Request& request, Exchange* exchange) const;
  void CheckKey(const httplib::Request& request, Exchange* exchange) const;
  void CheckLoad(const httplib::Request& request, Exchange* exchange) const;
  void TakeSeat(httplib::Request& request, Exchange* exchange) const;
  void CheckBody(httplib::Request& request, Exchange* exchange) const;
  void Answer(const httplib::Request& in, httplib::Response& out) const;
  void SendStream(const httplib::Request& in, StreamBody stream, const std::string& content_type,
                  httplib::Response& out) const;
  void WriteRefusal(const Exchange& exchange, httplib::Response& out) const;
  void WriteError(int status, std::string_view message, httplib::Response& out) const;
  void AnswerFailure(const HandlerFailure& failure, httplib::Response& out) const;
  // Tells on_refusal of the request in progress; `connection` is its own.
  void Report(int status, std::string_view message, const Connection& connection) const;
  void LogFailure(const std::string& path, const char* what) const;

  void ServeConnection(AcceptedSocket socket, ConnectionPool::Seat* seat);
  // Returns whether the connection is kept. Otherwise sets `lingers` if the client may still send.
  bool ServeRequest(Connection* connection, bool* lingers);
  static void LingerIdly(Connection* connection, ConnectionPool::Seat* seat);
  void RefuseConnection(AcceptedSocket socket);
  static void SayNotPlain(Connection* connection);
  void Refuse(Connection* connection, int status, const std::string& reason,
              const std::string& message) const;
  void SendRefusal(Connection* connection) const;

  // Constant after Bind().
  const HttpServerOptions options_;
  const SocketTimeouts timeouts_;
  Router router_;
  std::vector<Route> routes_;
  std::vector<std::string> route_names_;

  mutable KeyLoad load_;
  mutable RequestSeats seats_;
  const std::shared_ptr<StopSignal> stop_ = std::make_shared<StopSignal>();
  HttpParser parser_;
  Listener listener_;
};

HttpServer::Impl::Impl(HttpServerOptions options)
    : options_(std::move(options)),
      timeouts_{options_.read_timeout_ms, options_.header_timeout_ms, options_.request_timeout_ms,
                options_.write_timeout_ms, options_.bytes_per_s_min},
      seats_(options_.threads_max) {
  CHECK(options_.error_body != nullptr);
  parser_.set_payload_max_length(options_.body_bytes_max);
  parser_.set_keep_alive_timeout(options_.idle_timeout_ms / 1000);
  InstallCallbacks();
}

void HttpServer::Impl::InstallCallbacks() {
  using HandlerResponse = httplib::Server::HandlerResponse;
  parser_.set_pre_routing_handler([this](const httplib::Request&, httplib::Response& out) {
    const Exchange& exchange = *current_exchange;
    if (exchange.preflight && exchange.refusal_status == 0) {
      if (exchange.cors_headers.empty()) Report(403, kForeignPage, *exchange.connection);
      out.status = 200;  // as llama-server; some clients take 204 for a refusal
      return HandlerResponse::Handled;
    }
    if (exchange.refusal_status == 0) return HandlerResponse::Unhandled;
    WriteRefusal(exchange, out);
    return HandlerResponse::Handled;
  });
  // A client that asks before it sends a large body is told at once if it will be refused.
  parser_.set_expect_100_continue_handler([this](const httplib::Request&, httplib::Response& out) {
    const Exchange& exchange = *current_exchange;
    if (exchange.refusal_status == 0) return 100;
    WriteRefusal(exchange, out);
    return exchange.refusal_status;
  });
  // Called for every answer of 400 or more, including the library's own (which have no body).
  const auto on_error = [this](const httplib::Request& in, httplib::Response& out) {
    Exchange& exchange = *current_exchange;
    exchange.close = true;
    if (!exchange.error_message.empty()) {
      Report(out.status, exchange.error_message, *exchange.connection);
    }
    if (out.body.empty() && !out.content_provider_) {
      const bool preempted = exchange.seat != nullptr && exchange.seat->preempted();
      // A request broken off because the server stops, or for another, is not the client's error.
      if (out.status == 400 && (stop_->raised() || preempted)) {
        out.status = 503;
        out.set_header("Retry-After", "1");
      }
      const bool encoded = in.has_header("Content-Encoding");
      std::string message(preempted ? kPreemptedText : MessageFor(out.status, encoded));
      if (out.status == 413) message = TooBigText("is longer", options_.body_bytes_max);
      Report(out.status, message, *exchange.connection);
      WriteError(out.status, message, out);
    }
    return HandlerResponse::Handled;
  };
  parser_.set_error_handler(on_error);
  parser_.set_exception_handler([this](const auto&, httplib::Response& out, const auto& thrown) {
    AnswerFailure(FailureOf(thrown), out);
  });
  parser_.set_post_routing_handler([this](const httplib::Request&, httplib::Response& out) {
    for (const auto& [name, value] : current_exchange->cors_headers) out.set_header(name, value);
    if (!options_.answer_headers) return;
    for (const auto& [name, value] : options_.answer_headers(current_exchange->path)) {
      out.set_header(name, value);
    }
  });
  // Prepare() has routed the request and set the only path that the library knows.
  const auto answer = [this](const httplib::Request& in, httplib::Response& out) {
    Answer(in, out);
  };
  parser_.Get("/", answer).Post("/", answer).Put("/", answer).Patch("/", answer);
  parser_.Delete("/", answer).Options("/", answer);
}

void HttpServer::Impl::Prepare(httplib::Request& request, Exchange* exchange) const {
  const std::string_view path = WithoutPrefix(options_.api_prefix, TargetPath(request.target));
  exchange->path = PercentDecode(path);
  exchange->method = request.method;
  exchange->match = router_.Find(request.method, path);
  request.path = "/";
  // Answers are small chunks or local; compressing them would only delay them. The library would
  // also cut any answer to a Range.
  request.headers.erase("Accept-Encoding");
  request.ranges.clear();
  // The library splits form bodies and drops their text; curl labels every body a form.
  exchange->content_type = request.get_header_value("Content-Type");
  request.headers.erase("Content-Type");

  // Whatever it is refused for, it is its key's.
  if (has_keys()) exchange->key_number = KeyOf(*options_.keys, request);
  CheckBrowser(request, exchange);
  if (exchange->preflight || exchange->refusal_status != 0) {
    // The refusal is set already.
  } else if (!exchange->match.path_known) {
    NoRoute none = AnswerWithoutRoute(route_names_, request.method, exchange->path);
    exchange->RefuseWith(none.status, std::move(none.message));
  } else if (!exchange->match.found) {
    exchange->RefuseWith(405, Shown(exchange->path) + " does not support the method " +
                                  request.method + ", only " + exchange->match.allow);
    exchange->refusal_headers.emplace_back("Allow", exchange->match.allow);
  } else {
    CheckKey(request, exchange);
  }
  CheckBody(request, exchange);
  CheckLoad(request, exchange);
  TakeSeat(request, exchange);
}

void HttpServer::Impl::CheckBrowser(const httplib::Request& request, Exchange* exchange) const {
  const std::string origin = request.get_header_value("Origin");
  exchange->cors_headers = CorsHeaders(options_.cors_origins, origin);
  const bool allowed = !exchange->cors_headers.empty();
  // Without CORS headers in the answer the browser sends no request, and says why to the page's
  // author; a status of 400 or more would hide that reason.
  exchange->preflight = !origin.empty() && request.method == "OPTIONS" &&
                        exchange->match.path_known &&
                        request.has_header("Access-Control-Request-Method");
  if (allowed && exchange->preflight) {
    const Preflight wanted{
        request.get_header_value("Access-Control-Request-Headers"),
        request.get_header_value("Access-Control-Request-Private-Network") == "true"};
    for (auto& header : PreflightHeaders(exchange->match.allow, wanted)) {
      exchange->cors_headers.push_back(std::move(header));
    }
  }
  if (has_keys()) return;
  const std::string host = request.get_header_value("Host");
  if (!origin.empty() && !allowed && !exchange->preflight && !IsSameOrigin(origin, host)) {
    exchange->RefuseWith(403, std::string(kForeignPage));
  } else if (!options_.insecure && !NamesLoopback(host, options_.host)) {
    exchange->RefuseWith(403, std::string(kForeignHost));
  }
}

void HttpServer::Impl::CheckLoad(const httplib::Request& request, Exchange* exchange) const {
  // Requests that inspect or cancel must work even when the key's limit is reached.
  if (request.method != "POST" || !exchange->match.captures.empty()) return;
  if (exchange->refusal_status != 0) return;
  exchange->at_work = load_.Enter(exchange->key_number, options_.key_requests_max);
  if (exchange->at_work != nullptr) return;
  exchange->RefuseWith(429, std::to_string(options_.key_requests_max) +
                                " requests of this key are running, the limit of --max-streams; "
                                "try again when one has ended");
  exchange->refusal_headers.emplace_back("Retry-After", "1");
}

void HttpServer::Impl::TakeSeat(httplib::Request& request, Exchange* exchange) const {
  if (exchange->refusal_status != 0) return;
  const size_t keys = has_keys() ? options_.keys->size() : 0;
  auto seat = seats_.Enter(exchange->key_number, keys, exchange->watch);
  if (seat) {
    exchange->seat = std::move(*seat);
    exchange->connection->SetWaits(exchange->seat.get());
    return;
  }
  const bool has_body =
      request.has_header("Transfer-Encoding") || request.get_header_value_u64("Content-Length") > 0;
  if (!exchange->preflight && !has_body &&
      routes_[exchange->match.route].access == HttpAccess::kAlways) {
    // One short answer, which the client's side need not take for the server to go on.
    exchange->last = true;
    request.headers.erase("Connection");
    request.headers.emplace("Connection", "close");
    return;
  }
  exchange->preflight = false;
  exchange->RefuseWith(503, seat.error().message);
  exchange->refusal_headers.emplace_back("Retry-After", "1");
}

void HttpServer::Impl::CheckKey(const httplib::Request& request, Exchange* exchange) const {
  if (!has_keys()) return;
  const HttpAccess access = routes_[exchange->match.route].access;
  const ApiKeys::Number key = exchange->key_number;
  const bool admits = access == HttpAccess::kAdmin
                          ? options_.keys->IsAdmin(key)
                          : access != HttpAccess::kAdminOfMany || options_.keys->IsAdminOrOnly(key);
  if (key != 0 && !admits) {
    const std::string does = request.method + " " + Shown(exchange->path);
    exchange->RefuseWith(403, NeedsAdminText(does, options_.keys->has_admin()));
  }
  if (key != 0) return;
  if (access == HttpAccess::kPublic || access == HttpAccess::kAlways) return;
  exchange->RefuseWith(401, NeedsKeyText(!request.get_header_value("Authorization").empty() ||
                                         request.has_header("x-api-key")));
  exchange->refusal_headers.emplace_back("WWW-Authenticate", "Bearer");
}

void HttpServer::Impl::CheckBody(httplib::Request& request, Exchange* exchange) const {
  const bool has_length = request.has_header("Content-Length");
  // The library does not know this name of a body as it is.
  if (SameIgnoringCase(request.get_header_value("Content-Encoding"), "identity")) {
    request.headers.erase("Content-Encoding");
  }
  if (request.has_header("Transfer-Encoding")) {
    if (!SameIgnoringCase(request.get_header_value("Transfer-Encoding"), "chunked")) {
      exchange->RefuseWith(501, "unsupported Transfer-Encoding; the server accepts chunked only");
      exchange->close = true;  // the end of the body is unknown
    }
    return;
  }
  // Without a length there is no body; the library would wait for the end of the connection.
  if (!has_length) request.headers.emplace("Content-Length", "0");
  const uint64_t length = request.get_header_value_u64("Content-Length");
  if (length > options_.body_bytes_max && exchange->refusal_status == 0) {
    exchange->RefuseWith(
        413, TooBigText("has " + std::to_string(length) + " bytes, more", options_.body_bytes_max));
  }
}

void HttpServer::Impl::Answer(const httplib::Request& in, httplib::Response& out) const {
  const Exchange& exchange = *current_exchange;
  HttpRequest request;
  request.method = in.method;
  request.path = exchange.path;
  request.target = WithoutPrefix(options_.api_prefix, TargetWithQuery(in.target));
  request.body = in.body;
  request.params = in.params;
  request.captures = exchange.match.captures;
  request.headers.assign(in.headers.begin(), in.headers.end());
  if (!exchange.content_type.empty()) {
    request.headers.emplace_back("Content-Type", exchange.content_type);
  }
  request.remote = in.remote_addr;
  request.key_number = exchange.key_number;
  request.is_admin = has_keys() && options_.keys->IsAdmin(exchange.key_number);
  request.gone = [watch = exchange.watch] { return watch->Gone(); };

  current_exchange->bytes = std::max(exchange.bytes, in.body.size());
  HttpResponse response = routes_[exchange.match.route].handler(request);
  current_exchange->until_sent = std::move(response.until_sent);
  current_exchange->error_message = std::move(response.error_message);
  out.status = response.status;
  for (const auto& [name, value] : response.headers) out.set_header(name, value);
  // The library announces ranges on every HEAD unless told otherwise.
  if (in.method == "HEAD") out.set_header("Accept-Ranges", "none");
  if (response.stream) {
    SendStream(in, std::move(response.stream), response.content_type, out);
  } else {
    out.set_content(std::move(response.body), response.content_type);
  }
}

void HttpServer::Impl::SendStream(const httplib::Request& in, StreamBody stream,
                                  const std::string& content_type, httplib::Response& out) const {
  auto source = std::make_shared<StreamSource>(std::move(stream), options_.log);
  auto provide = [source](size_t, httplib::DataSink& sink) { return source->Provide(sink); };
  auto release = [source](bool) { source->Release(); };
  if (in.version == "HTTP/1.0") {  // HTTP/1.0 has no chunks: the body ends with the connection
    current_exchange->close = true;
    out.set_content_provider(content_type, std::move(provide), std::move(release));
  } else {
    out.set_chunked_content_provider(content_type, std::move(provide), std::move(release));
  }
}

void HttpServer::Impl::WriteRefusal(const Exchange& exchange, httplib::Response& out) const {
  for (const auto& [name, value] : exchange.refusal_headers) out.set_header(name, value);
  current_exchange->error_message = exchange.refusal_message;
  WriteError(exchange.refusal_status, exchange.refusal_message, out);
}

void HttpServer::Impl::WriteError(int status, std::string_view message,
                                  httplib::Response& out) const {
  out.status = status;
  try {
    out.set_content(options_.error_body(status, message, current_exchange->path),
                    options_.error_content_type);
  } catch (...) {
    LogFailure("an error answer", "error_body threw");
    out.set_content(std::string(message), "text/plain");
  }
}

void HttpServer::Impl::AnswerFailure(const HandlerFailure& failure, httplib::Response& out) const {
  LogFailure(current_exchange->path, failure.why.c_str());
  if (failure.status == 503) out.set_header("Retry-After", "1");
  WriteError(failure.status, failure.message, out);
}

void HttpServer::Impl::Report(int status, std::string_view message,
                              const Connection& connection) const {
  if (!options_.on_refusal) return;
  HttpRefusal refusal;
  refusal.status = status;
  refusal.message = message;
  refusal.remote = connection.remote();
  if (current_exchange != nullptr) {
    const Exchange& exchange = *current_exchange;
    refusal.method = exchange.method;
    refusal.path = exchange.path;
    if (exchange.match.found) refusal.route = route_names_[exchange.match.route];
    refusal.key_number = exchange.key_number;
  }
  try {
    options_.on_refusal(refusal);
  } catch (...) {
    LogFailure("a refusal", "on_refusal threw");
  }
}

void HttpServer::Impl::LogFailure(const std::string& path, const char* what) const {
  if (options_.log) options_.log(LogLevel::kError, "failed on " + path + ": " + what);
}

HttpResponse HttpServer::Impl::Call(HttpRequest request) const {
  RouteMatch match = router_.Find(request.method, request.path);
  HttpResponse response;
  response.status = match.path_known ? 405 : 404;
  if (!match.found) return response;
  request.path = PercentDecode(request.path);
  request.captures = std::move(match.captures);
  return routes_[match.route].handler(request);
}

Status HttpServer::Impl::Bind() {
  if (Status checked = CheckOrigins(options_.cors_origins, has_keys()); !checked) return checked;
  return listener_.Open(options_.host, options_.port,
                        /*loopback_only=*/!has_keys() && !options_.insecure);
}

void HttpServer::Impl::Serve() {
  ConnectionPool pool(
      options_.threads_max + options_.spare_threads,
      [this](AcceptedSocket socket, ConnectionPool::Seat* seat) {
        ServeConnection(std::move(socket), seat);
      },
      [this](AcceptedSocket socket) { RefuseConnection(std::move(socket)); });
  for (;;) {
    AcceptedSocket socket;
    socket.fd = listener_.Accept(*stop_, &socket.remote);
    const int fd = socket.fd;
    if (fd < 0) break;
    // The listener goes on with the next one.
    if (!TryWork([&] { pool.Add(std::move(socket)); })) close(fd);
  }
  listener_.Close();
  pool.Shutdown();
}

void HttpServer::Impl::ServeConnection(AcceptedSocket socket, ConnectionPool::Seat* seat) {
  Connection connection(socket.fd, std::move(socket.remote), stop_, timeouts_,
                        options_.certificate.get());
  // A new connection keeps its seat for a moment, as its first request is on the way.
  bool idle = false;
  for (;;) {
    if (idle) seat->EnterIdle();
    const Connection::Wait wait =
        idle ? connection.WaitForRequest(options_.idle_timeout_ms, seat->wake_fd())
             : connection.WaitForRequest(kFirstByteMs, -1);
    using Wait = Connection::Wait;
    const bool asks = wait != Wait::kClosed && wait != Wait::kWoken && wait != Wait::kTimeout;
    if (idle && !seat->LeaveIdle(asks)) {
      if (asks) SendRefusal(&connection);
      return;
    }
    const bool idle_before = std::exchange(idle, true);
    if (wait == Connection::Wait::kWoken)
      continue;  // another idle connection has given up its
                 // seat first
    if (wait == Connection::Wait::kTimeout && !idle_before) continue;
    if (!asks) {
      if (connection.FellBackToPlain()) SayNotPlain(&connection);
      return;
    }
    if (wait == Wait::kNotHttp) return Refuse(&connection, 400, "Bad Request", kNotHttpText);
    if (wait == Wait::kTooLong) return Refuse(&connection, 431, kTooLongReason, kTooLongText);
    bool lingers = false;
    if (!connection.BeginRequest() || ServeRequest(&connection, &lingers)) continue;
    if (lingers) LingerIdly(&connection, seat);
    return;
  }
}

// Nobody need wait for a client that was refused.
void HttpServer::Impl::LingerIdly(Connection* connection, ConnectionPool::Seat* seat) {
  seat->EnterIdle();
  connection->LingerBriefly(kLingerAfterError, seat->wake_fd());
  seat->LeaveIdle(/*has_request=*/false);
}

bool HttpServer::Impl::ServeRequest(Connection* connection, bool* lingers) {
  Exchange exchange;
  exchange.connection = connection;
  exchange.watch = connection->watch();
  current_exchange = &exchange;
  bool go_on = false;
  try {
    ConnectionStream stream(connection, &exchange);
    go_on = parser_.ServeOne(&stream, connection->remote(),
                             [&](httplib::Request& request) { Prepare(request, &exchange); });
  } catch (const std::exception& e) {
    LogFailure("a connection", e.what());
  } catch (...) {
    LogFailure("a connection", "an unknown exception was thrown");
  }
  current_exchange = nullptr;
  connection->SetWaits(nullptr);
  if (options_.on_end) options_.on_end(exchange.bytes);
  *lingers = exchange.close || exchange.last;
  return go_on && !*lingers;
}

void HttpServer::Impl::RefuseConnection(AcceptedSocket socket) {
  Connection connection(socket.fd, std::move(socket.remote), stop_, timeouts_,
                        options_.certificate.get());
  // Without a handshake no answer can be sent.
  if (options_.certificate != nullptr &&
      connection.WaitForRequest(kRefusedRequestMs, -1) != Connection::Wait::kData) {
    return;
  }
  SendRefusal(&connection);
}

void HttpServer::Impl::SayNotPlain(Connection* connection) {
  connection->Write(kPlainHttpAnswer.data(), kPlainHttpAnswer.size());
  connection->LingerBriefly(kLingerAfterError);
}

void HttpServer::Impl::SendRefusal(Connection* connection) const {
  Refuse(connection, 503, "Service Unavailable\r\nRetry-After: 1",
         "all " + std::to_string(options_.threads_max) +
             " connections of this server are in use; try again later");
}

void HttpServer::Impl::Refuse(Connection* connection, int status, const std::string& reason,
                              const std::string& message) const {
  std::string body;
  Report(status, message, *connection);
  try {
    body = options_.error_body(status, message, "");
  } catch (...) {
    LogFailure("an error answer", "error_body threw");
  }
  const std::string answer = RefusalAnswer(status, reason, options_.error_content_type, body);
  // A new connection's send buffer holds this answer; a client that reads nothing gets no more.
  connection->Write(answer.data(), answer.size());
  connection->LingerBriefly(kLingerAfterRefusal);
}

HttpServer::HttpServer(HttpServerOptions options)
    : impl_(std::make_unique<Impl>(std::move(options))) {}

HttpServer::~HttpServer() = default;

void HttpServer::Handle(const std::string& method, const std::string& path, HttpHandler handler,
                        HttpAccess access) {
  impl_->Handle(method, path, std::move(handler), access);
}

std::vector<std::string> HttpServer::RouteNames() const {
  return impl_->RouteNames();
}

HttpResponse HttpServer::Call(HttpRequest request) const {
  return impl_->Call(std::move(request));
}

Status HttpServer::Bind() {
  return impl_->Bind();
}

int HttpServer::port() const {
  return impl_->port();
}

void HttpServer::Serve() {
  impl_->Serve();
}

void HttpServer::Stop() {
  impl_->Stop();
}

}  // namespace cairn
