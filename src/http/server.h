// HttpServer: the HTTP/1.1 server. It knows methods, paths, keys and bytes, and nothing of chats
// or JSON; this header shows no type of the library that parses HTTP.
//
// Each connection is served by one thread from its first byte to its end, so an open stream holds a
// thread. `threads_max` connections are served at once. When one more comes, a connection that
// idles between two requests, or has not asked anything yet, is closed for it; when all are at
// work, it is answered 503 with Retry-After at once instead of being left waiting.
//
// Answers the server gives by itself: 400 unreadable, 401 no or wrong key, 404 unknown path, 405
// known path and other method (with Allow), 413 body too big, 414 target too long (8 KiB), 429 too
// many of one key, 500 a
// handler threw, 501 unknown transfer coding, 503 full. A header line may have 8 KiB and there may
// be 100 of them. After an answer of 400 or more the connection is closed.
//
// Web pages may ask only where `cors_origins` names theirs: then preflights are answered and
// Access-Control headers sent, otherwise never. A server without keys refuses with a 403 what pages
// of other sites ask, and, while it listens on loopback, what is asked of it by a name that is not
// this machine's (http/page/browsers.h).

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
#include "http/keys.h"
#include "http/tls.h"

namespace cairn {

struct HttpRequest {
  std::string method;  // "HEAD" stays "HEAD", though GET's handler answers it
  std::string path;    // percent-decoded, without the query
  std::string body;    // decompressed if it came compressed
  std::multimap<std::string, std::string> params;  // the query
  std::map<std::string, std::string> captures;     // what ":name" segments of the pattern took
  std::vector<std::pair<std::string, std::string>> headers;
  std::string remote;       // "127.0.0.1:54321"
  uint32_t key_number = 0;  // of the API key that was shown, see ApiKeys; 0: none

  // Whether nobody waits for the answer any more: the client has closed its connection, or the
  // server is stopping. Handlers that wait must ask now and then. Any thread may call it, also
  // after the request has ended; true from then on. One system call.
  std::function<bool()> gone;

  // The value of the first header of that name (case does not matter); empty when there is none.
  std::string_view Header(std::string_view name) const;
};

// An answer that comes piece by piece, sent in chunks as they come. All calls are made by the
// connection's thread.
struct StreamBody {
  // Waits for more and puts it into `chunk` (empty at the call), which is sent at once. An empty
  // chunk means "nothing yet": the server then looks whether the client is still there and calls
  // again, so return at least a few times a second. False at the end; what is in `chunk` is still
  // sent.
  std::function<bool(std::string* chunk)> next;
  // Called at most once, and only when the stream ends before next() has returned false: the client
  // vanished, the server stops, next() threw, or the request was a HEAD and nothing was asked for.
  // next() is not called afterwards. May be empty.
  std::function<void()> on_gone;

  explicit operator bool() const { return next != nullptr; }
};

struct HttpResponse {
  int status = 200;
  std::string content_type = "application/json";
  std::string body;  // not used when there is a stream
  // A header whose name or value is not valid (a line break, say) is not sent.
  std::vector<std::pair<std::string, std::string>> headers;
  StreamBody stream;
};

// Called on connection threads, several at once. May throw: the client gets a 500.
using HttpHandler = std::function<HttpResponse(const HttpRequest& request)>;

struct HttpServerOptions {
  std::string host = "127.0.0.1";
  int port = 8080;  // 0: any free one
  // With one, the port speaks TLS and nothing else; who speaks plain HTTP to it gets a 400 that
  // says so.
  std::shared_ptr<const TlsCertificate> certificate = nullptr;  // null: plain HTTP
  // When there are any, every path that is not public wants one of them, as "Authorization: Bearer
  // K" or "x-api-key: K".
  std::shared_ptr<const ApiKeys> keys = nullptr;  // null: there are none
  // Listens where other machines can reach it without a key too.
  bool insecure = false;
  // Origins of web pages that may ask ("https://a.example", or "*" alone); see CheckOrigins().
  std::vector<std::string> cors_origins = {};
  // Requests of one key being answered at once, streams and others that POST; 0: no limit.
  size_t key_requests_max = 0;
  size_t body_bytes_max = size_t{64} << 20;  // also of a body after decompression
  size_t threads_max = 128;                  // connections served at once
  int read_timeout_ms = 30'000;              // silence while a request is being sent
  int header_timeout_ms = 10'000;    // the headers being sent, before anybody has shown a key
  int request_timeout_ms = 600'000;  // the rest of a request being sent
  int write_timeout_ms = 30'000;     // a client that reads nothing of its answer
  int idle_timeout_ms = 60'000;      // between two requests of a connection

  // Makes the body of the server's own error answers. `path` is the request's; empty when it could
  // not be read. Called from any connection thread.
  std::function<std::string(int status, std::string_view message, std::string_view path)>
      error_body;
  // Headers for every answer to a request at `path`, the server's own answers too. Called from any
  // connection thread. May be empty.
  std::function<std::vector<std::pair<std::string, std::string>>(std::string_view path)>
      answer_headers = {};
  std::string error_content_type = "application/json";

  // Takes a line when a handler throws. May be empty.
  LogSink log;
};

enum class HttpAccess {
  kNeedsKey,
  kPublic,  // answered without a key too, as /health is
};

// Call Handle() for everything, then Bind(), then Serve(). Stop() may be called from any thread.
class HttpServer {
 public:
  explicit HttpServer(HttpServerOptions options);
  // REQUIRES: Serve() is not running.
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  // `method` in capitals; HEAD is answered where GET is. A segment of `path` that starts with a
  // colon takes any one segment: "/slots/:id". REQUIRES: before Bind().
  void Handle(const std::string& method, const std::string& path, HttpHandler handler,
              HttpAccess access = HttpAccess::kNeedsKey);

  // What was given to Handle(): "POST /slots/:id".
  std::vector<std::string> RouteNames() const;

  // What the handler of `request.method` and `request.path` answers, whose captures are filled in,
  // without a connection; nobody asks for a key. 404 or 405, and no body, where there is none. What
  // a handler throws comes through. Any thread, once all Handle() are called.
  HttpResponse Call(HttpRequest request) const;

  // Starts listening. kUnavailable: the port is taken. kInvalidArgument: no such host or port, or
  // a host that other machines reach without any key. From here on connections wait
  // for Serve().
  Status Bind();

  // The port in use. REQUIRES: Bind() succeeded.
  int port() const;

  // Serves until Stop(), then returns when the last connection thread has ended: streams are cut
  // after their current next(), and waiting handlers see gone(). REQUIRES: Bind() succeeded.
  void Serve();

  // Ends Serve(), also one that has not begun. Only sets a flag and writes to a descriptor.
  void Stop();

 private:
  class Impl;
  const std::unique_ptr<Impl> impl_;
};

}  // namespace cairn

#endif  // CAIRN_HTTP_SERVER_H_
