// HttpClient: HTTP requests to the server that a benchmark or test runs against, ours or a peer's,
// and to web servers (http/http_client.h).

#ifndef CAIRN_HTTP_HTTP_CLIENT_H_
#define CAIRN_HTTP_HTTP_CLIENT_H_

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"

namespace cairn {

struct HttpReply {
  int status = 0;
  std::string body;
  std::vector<std::pair<std::string, std::string>> headers;

  // Returns the value of the first header with that name, ignoring case, or an empty view.
  std::string_view Header(std::string_view name) const;
};

struct HttpClientOptions {
  int timeout_ms = 600'000;  // limit for the wait for the answer, and between two chunks of it
  int total_timeout_ms = 0;  // limit for a whole request after it is connected; 0 for none
  // Limit for establishing the connection. With one second or more the library resolves names on a
  // thread of the C library, one for each connection: slow, and more than the thread sanitizer can
  // follow.
  int connect_timeout_ms = 900;
  std::vector<std::pair<std::string, std::string>> headers;  // sent with every request
};

// Thread-safe: every request has its own connection, which is closed at its end.
//
// An answer of any status is a success. Returns kUnavailable if no server listens, or if it stops
// answering or disconnects midway, and kInvalidArgument if the address cannot be parsed.
class HttpClient {
 public:
  // `url` is "http://host:port", optionally with a path that is prepended to every path.
  explicit HttpClient(std::string url, HttpClientOptions options = {});

  Result<HttpReply> Get(const std::string& path) const;
  Result<HttpReply> Delete(const std::string& path) const;
  Result<HttpReply> Post(const std::string& path, const std::string& body,
                         const std::string& content_type = "application/json") const;

  // Posts JSON. If the status is 200, passes the answer's body to `on_chunk` as it arrives, on this
  // thread; the body of any other status goes to `error_body` as a whole. `status` is set once it
  // is known (0 before), and the headers of `head`, unless it is null, once the answer has ended.
  // If `on_chunk` returns false, the connection is closed and the call succeeds without setting the
  // headers.
  Status PostStream(const std::string& path, const std::string& body,
                    const std::function<bool(std::string_view chunk)>& on_chunk, int* status,
                    std::string* error_body, HttpReply* head = nullptr) const;

  // Gets a file. Passes the status and the headers to `on_head`, and then the body to `on_chunk` as
  // it arrives, on this thread. If either returns false, the connection is closed and the call
  // succeeds. A body that is compressed is passed as it is.
  Status GetStream(const std::string& path,
                   const std::function<bool(const HttpReply& head)>& on_head,
                   const std::function<bool(std::string_view chunk)>& on_chunk) const;

  const std::string& url() const { return url_; }

 private:
  struct Call;
  Result<HttpReply> Send(const Call& call) const;

  std::string url_;     // scheme, host and port
  std::string prefix_;  // prepended to every path
  HttpClientOptions options_;
};

// FetchUrl: gets a file from a web server that a client of ours named.
//
// The caller decides whether clients may make this machine send requests: the address may be one
// that only this machine can reach.
struct UrlFetchOptions {
  int time_ms_max = 10'000;  // for everything, redirects included
  size_t redirects_max = 3;
  // As in HttpClientOptions; limited by the time that is left too.
  int connect_timeout_ms = 5'000;
};

// GETs an http or https URL, follows redirects to others, and returns the body of the 200. Any
// thread. https works where the HTTP library was built with TLS; the server's certificate must be
// valid.
//
// kInvalidArgument: not such a URL. kTooLong: the body has more than `bytes_max` bytes, of which no
// more are received. kTimedOut: it took too long. kUnavailable: anything else.
Result<Bytes> FetchUrl(const std::string& url, size_t bytes_max,
                       const UrlFetchOptions& options = {});

}  // namespace cairn

#endif  // CAIRN_HTTP_HTTP_CLIENT_H_
