// HttpClient: HTTP requests to a server that is being played against, ours or a peer's.

#ifndef CAIRN_HTTP_HTTP_CLIENT_H_
#define CAIRN_HTTP_HTTP_CLIENT_H_

#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace cairn {

struct HttpReply {
  int status = 0;
  std::string body;
  std::vector<std::pair<std::string, std::string>> headers;

  // The value of the first header of that name (case does not matter); empty when there is none.
  std::string_view Header(std::string_view name) const;
};

struct HttpClientOptions {
  int timeout_ms = 600'000;  // silence while waiting for the answer, or between two of its pieces
  // Until the connection is made. From a second on the library looks names up on a thread of the C
  // library, one per connection: slow, and more than the thread sanitizer can follow.
  int connect_timeout_ms = 900;
  std::vector<std::pair<std::string, std::string>> headers;  // sent with every request
};

// Thread-safe: every request has a connection of its own, closed at its end.
//
// An answer of any status is an answer. kUnavailable: nobody listens, or the server went silent or
// away in the middle. kInvalidArgument: the address cannot be read.
class HttpClient {
 public:
  // `url` is "http://host:port", optionally with a path that is put before every path.
  explicit HttpClient(std::string url, HttpClientOptions options = {});

  Result<HttpReply> Get(const std::string& path) const;
  Result<HttpReply> Delete(const std::string& path) const;
  Result<HttpReply> Post(const std::string& path, const std::string& body,
                         const std::string& content_type = "application/json") const;

  // Posts JSON and passes the answer's body on as it comes, on this thread, when the status is 200;
  // any other status' body goes to `error_body` whole. `status` is set once it is known (0 before),
  // and the headers of `head`, unless that is null, once the answer has ended.
  // When `on_chunk` returns false the connection is closed and the call succeeds, without them.
  Status PostStream(const std::string& path, const std::string& body,
                    const std::function<bool(std::string_view chunk)>& on_chunk, int* status,
                    std::string* error_body, HttpReply* head = nullptr) const;

  const std::string& url() const { return url_; }

 private:
  struct Call;
  Result<HttpReply> Send(const Call& call) const;

  std::string url_;     // scheme, host and port
  std::string prefix_;  // put before every path
  HttpClientOptions options_;
};

}  // namespace cairn

#endif  // CAIRN_HTTP_HTTP_CLIENT_H_
