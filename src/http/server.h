// HttpServer: the HTTP/1.1 server. It handles methods, paths, keys and bytes, and has no dependency
// on chats or JSON. No type of the HTTP library appears in this header.
//
// Each connection is served by one thread from its first byte to its end, so an open stream holds a
// thread. `threads_max` requests are in progress at once. One more takes the place of a request
// that waits for its client and whose key holds more of them (http/request_seats.h), or else
// is answered 503 with Retry-After at once instead of waiting. Connections that are idle between
// two requests, or have sent no request yet, are closed for others. /health is answered in any
// case: spare threads read what is asked.
//
// The server itself answers 400 for unreadable requests, 401 for a missing or wrong key, 403 for a
// key that may not do this, 404 for an unknown path, 405 for a known path and another method (with
// Allow), 413 for a body that is too large, 414 for a target that is too long (8 KiB), 429 for too
// many requests of one key, 500 if a handler threw, 501 for an unknown transfer coding, and 503 if
// it is full. A header line may have 8 KiB, and a request 100 of them. After an answer of 400 or
// more the connection is closed.
//
// Web pages may send requests only if `cors_origins` names their origin: then preflights are
// answered and Access-Control headers sent, otherwise never. A server without keys refuses requests
// from pages of other sites with 403, and, while it listens on loopback, also requests under a host
// name that is not this machine's (http/browsers.h).

#ifndef CAIRN_HTTP_SERVER_H_
#define CAIRN_HTTP_SERVER_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/log.h"
#include "base/result.h"
#include "http/connections/tls.h"
#include "http/keys.h"

namespace cairn {

struct HttpRequest {
  std::string method;  // "HEAD" stays "HEAD", though GET's handler answers it
  std::string path;    // percent-decoded, without the query
  std::string target;  // path and query as they were sent, percent-encoded
  std::string body;    // decompressed
  std::multimap<std::string, std::string> params;  // the query
  std::map<std::string, std::string> captures;     // values of the pattern's ":name" segments
  std::vector<std::pair<std::string, std::string>> headers;
  std::string remote;       // for example, "127.0.0.1:54321"
  uint32_t key_number = 0;  // number of the request's API key, see ApiKeys; 0: none
  bool is_admin = false;    // that key is an admin's

  // Returns whether the answer is no longer wanted: the client has closed its connection, or the
  // server is stopping. Handlers that wait must check it regularly. Any thread may call it, also
  // after the request has ended; it returns true from then on. Costs one system call.
  std::function<bool()> gone;

  // Returns the value of the first header with that name, ignoring case, or an empty view.
  std::string_view Header(std::string_view name) const;
};

// A streamed answer, sent in HTTP chunks as it is produced. All calls are made by the connection's
// thread.
struct StreamBody {
  // Waits for more data and puts it into `chunk` (empty at the call), which is sent at once. An
  // empty chunk means that there is no data yet: the server then checks whether the client is still
  // connected and calls again, so the function must return at least a few times a second. Returns
  // false at the end; the contents of `chunk` are still sent.
  std::function<bool(std::string* chunk)> next;
  // Called at most once, and only if the stream ends before next() has returned false: the client
  // disconnected, the server stops, next() threw, or the request was a HEAD. next() is not called
  // afterwards. May be empty.
  std::function<void()> on_gone;

  explicit operator bool() const { return next != nullptr; }
};

struct HttpResponse {
  int status = 200;
  std::string content_type = "application/json";
  std::string body;  // ignored if there is a stream
  // A header whose name or value is not valid (has a line break, for example) is not sent.
  std::vector<std::pair<std::string, std::string>> headers;
  StreamBody stream;
  // For a refusal, what the body says; the server then reports the request as refused. Empty: it
  // was reported elsewhere.
  std::string error_message = {};
  // Released once the answer has been sent, or cannot be.
  std::shared_ptr<void> until_sent = nullptr;
};

// Called on connection threads, several at once. May throw: the client then gets a 500.
using HttpHandler = std::function<HttpResponse(const HttpRequest& request)>;

// A request that was refused with an error, by the server itself or by a handler. The texts live
// for the call.
struct HttpRefusal {
  int status = 0;
  std::string_view method;  // empty, as the path: it could not be read
  std::string_view path;
  std::string_view route;  // as in RouteNames(); empty: none
  std::string_view message;
  std::string_view remote;
  uint32_t key_number = 0;
};

struct HttpServerOptions {
  std::string host = "127.0.0.1";  // or the path of a Unix socket, see IsSocketPath
  int port = 8080;                 // 0: any free port
  // With a certificate, the port accepts TLS only; a client that sends plain HTTP gets a 400 that
  // says so.
  std::shared_ptr<const TlsCertificate> certificate = nullptr;  // null: plain HTTP
  // If there are keys, every path that is not public requires one of them, as "Authorization:
  // Bearer K" or "x-api-key: K".
  std::shared_ptr<const ApiKeys> keys = nullptr;  // null: no keys
  // Allows listening where other machines can connect even without a key.
  bool insecure = false;
  // In front of every path, such as "/llm"; empty: nothing. Handlers do not see it.
  std::string api_prefix = {};
  // Origins of web pages that may send requests ("https://a.example", or "*" alone); see
  // CheckOrigins().
  std::vector<std::string> cors_origins = {};
  // Limit for the requests of one key in progress, counting streams and other POST requests; 0: no
  // limit.
  size_t key_requests_max = 0;
  size_t body_bytes_max = size_t{64} << 20;  // also for a body after decompression
  size_t threads_max = 128;                  // requests in progress at once
  size_t spare_threads = 8;          // for connections beyond them, until it is known what they ask
  int read_timeout_ms = 30'000;      // limit for a pause within a request, see Pace
  int header_timeout_ms = 10'000;    // limit for receiving the headers, before a key has been seen
  int request_timeout_ms = 600'000;  // limit for receiving the rest of a request
  int write_timeout_ms = 30'000;     // limit for a client that does not read its answer; likewise
  // The least rate of bodies and answers, see Pace; 0: the limits hold for each pause alone.
  size_t bytes_per_s_min = 1024;
  int idle_timeout_ms = 60'000;  // limit between two requests of a connection

  // Makes the body of the server's own error answers. `path` is the request's, or empty if it could
  // not be read. Called from any connection thread.
  std::function<std::string(int status, std::string_view message, std::string_view path)>
      error_body;
  // Returns the headers for every answer to a request at `path`, including the server's own
  // answers. Called from any connection thread. May be empty.
  std::function<std::vector<std::pair<std::string, std::string>>(std::string_view path)>
      answer_headers = {};
  std::string error_content_type = "application/json";

  // Receives each refusal. Called from any connection thread. May be empty.
  std::function<void(const HttpRefusal& refusal)> on_refusal = {};

  // Called when a request has ended and its memory is freed, with the bytes that it moved: those it
  // sent, or more if they were compressed, and those of its answer. Called from any connection
  // thread; must not throw. May be empty.
  std::function<void(size_t bytes)> on_end = {};

  // Receives a line when a handler throws. May be empty.
  LogSink log;
};

enum class HttpAccess {
  kNeedsKey,
  kAdmin,        // needs an admin's key where there are keys: it acts on all clients
  kAdminOfMany,  // likewise where there are several keys; llama-server asks for any key
  kPublic,       // answered without a key too
  kAlways,       // likewise, and even if all connections are in use, as /health is
};

// All Handle() calls come first, then Bind(), then Serve(). Stop() may be called from any thread.
class HttpServer {
 public:
  explicit HttpServer(HttpServerOptions options);
  // REQUIRES: Serve() is not running.
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  // Adds a route. `method` is in capitals; routes of GET also answer HEAD. A segment of `path` that
  // starts with a colon matches any one segment: "/slots/:id". REQUIRES: before Bind().
  void Handle(const std::string& method, const std::string& path, HttpHandler handler,
              HttpAccess access = HttpAccess::kNeedsKey);

  // The routes added by Handle(), as "POST /slots/:id".
  std::vector<std::string> RouteNames() const;

  // Calls the handler of `request.method` and `request.path` without a connection, with the
  // captures filled in and without checking keys. Returns 404 or 405 without a body if there is no
  // handler. Exceptions of the handler pass through. Any thread, after all Handle() calls.
  HttpResponse Call(HttpRequest request) const;

  // Starts listening; from then on connections wait for Serve(). Returns kUnavailable if the port
  // is taken, and kInvalidArgument if there is no such host or port, or if other machines can reach
  // the host and no key is required.
  Status Bind();

  // The port in use. REQUIRES: Bind() succeeded.
  int port() const;

  // Serves until Stop(), then returns when the last connection thread has ended: streams end after
  // their current next(), and gone() returns true for waiting handlers. REQUIRES: Bind() succeeded.
  void Serve();

  // Ends Serve(), also one that has not begun. Only sets a flag and writes to a descriptor.
  void Stop();

 private:
  class Impl;
  const std::unique_ptr<Impl> impl_;
};

}  // namespace cairn

#endif  // CAIRN_HTTP_SERVER_H_
