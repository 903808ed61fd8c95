#include "http/http_client.h"

#include <httplib.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <exception>
#include <mutex>
#include <string_view>

#include "base/text.h"

namespace cairn {
namespace {

// Writing to a connection that the server has closed must be an error, not end the program.
void IgnoreBrokenPipes() {
  static std::once_flag once;
  std::call_once(once, [] {
    struct sigaction action = {};
    if (sigaction(SIGPIPE, nullptr, &action) == 0 && action.sa_handler == SIG_DFL) {
      std::signal(SIGPIPE, SIG_IGN);
    }
  });
}

// Before a body of 1 KiB or more the library sends "Expect: 100-continue" and waits a second for
// servers that do not support it. It does not if the request has that header already, so the
// request gets one, which is removed again when the headers are written.
ssize_t WriteHeadersWithoutExpect(httplib::Stream& stream, httplib::Headers& headers) {
  headers.erase("Expect");
  return httplib::detail::write_headers(stream, headers);
}

using std::chrono::steady_clock;

constexpr int kOk = 200;
constexpr size_t kUrlBytesMax = 8192;

struct SplitUrl {
  std::string origin;  // "https://example.org:8443"
  std::string path;    // "/a/b?c", begins with a slash
};

// Spaces and line ends would end the request's line, and bytes that are not ASCII must be escaped.
bool IsPrintable(char c) {
  return c > ' ' && c < '\x7F';
}

Result<SplitUrl> Split(const std::string& url) {
  const size_t scheme = url.find("://");
  const std::string_view name = std::string_view(url).substr(0, scheme);
  const bool known = scheme != std::string::npos &&
                     (SameIgnoringCase(name, "http") || SameIgnoringCase(name, "https"));
  const std::string_view rest = std::string_view(url).substr(known ? scheme + 3 : 0);
  const std::string_view host = rest.substr(0, rest.find_first_of("/?#"));
  if (url.size() > kUrlBytesMax || !known || host.empty() ||
      host.find('@') != std::string_view::npos ||
      !std::all_of(url.begin(), url.end(), IsPrintable)) {
    return Fail(ErrorCode::kInvalidArgument,
                "it is not a URL of the form http://host/path or https://host/path");
  }
  SplitUrl split;
  split.origin = (SameIgnoringCase(name, "https") ? "https://" : "http://") + std::string(host);
  const std::string_view path = rest.substr(host.size(), rest.find('#') - host.size());
  split.path = (path.starts_with('/') ? "" : "/") + std::string(path);
  return split;
}

// Returns the URL that a redirect from `from` names.
std::string Redirected(const SplitUrl& from, const std::string& location) {
  const size_t scheme = location.find("://");
  if (scheme != std::string::npos && scheme < location.find_first_of("/?#")) return location;
  if (location.starts_with("//"))
    return from.origin.substr(0, from.origin.find(':') + 1) + location;
  if (location.starts_with('/')) return from.origin + location;
  const std::string path = from.path.substr(0, from.path.find('?'));
  return from.origin + path.substr(0, path.rfind('/') + 1) + location;
}

bool IsRedirect(int status) {
  return status == 301 || status == 302 || status == 303 || status == 307 || status == 308;
}

// One request. Gets a body, or the address of another one.
class Fetch {
 public:
  Fetch(size_t bytes_max, steady_clock::time_point deadline)
      : bytes_max_(bytes_max), deadline_(deadline) {}

  Status Run(const SplitUrl& url, const UrlFetchOptions& options) {
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(deadline_ - steady_clock::now());
    const int left_ms = static_cast<int>(left.count());
    if (left_ms <= 0) return tl::unexpected<Error>(Late(options));
    HttpClientOptions client;
    client.timeout_ms = left_ms;
    client.total_timeout_ms = left_ms;
    client.connect_timeout_ms = std::min(options.connect_timeout_ms, left_ms);
    const Status got = HttpClient(url.origin, client)
                           .GetStream(
                               url.path, [this](const HttpReply& head) { return TakeHead(head); },
                               [this](std::string_view chunk) { return TakeBody(chunk); });
    if (status_ != 0 && status_ != kOk && !IsRedirect(status_)) {
      return Fail(ErrorCode::kUnavailable,
                  "the web server answered with the status " + std::to_string(status_));
    }
    if (too_long_) {
      return Fail(ErrorCode::kTooLong,
                  "the file has more than " + std::to_string(bytes_max_) + " bytes");
    }
    if (!IsRedirect(status_) && steady_clock::now() >= deadline_) {
      return tl::unexpected<Error>(Late(options));
    }
    if (!got) return Fail(ErrorCode::kUnavailable, got.error().message);
    return {};
  }

  // Set after a redirect.
  const std::string& location() const { return location_; }
  bool redirected() const { return IsRedirect(status_); }
  Bytes TakeBytes() { return std::move(bytes_); }

 private:
  static Error Late(const UrlFetchOptions& options) {
    return {ErrorCode::kTimedOut,
            "it took longer than " + std::to_string(options.time_ms_max) + " ms"};
  }

  // Only a 200 has a body that is wanted.
  bool TakeHead(const HttpReply& head) {
    status_ = head.status;
    location_ = head.Header("Location");
    return status_ == kOk;
  }

  bool TakeBody(std::string_view chunk) {
    too_long_ = chunk.size() > bytes_max_ - bytes_.size();
    if (too_long_ || steady_clock::now() >= deadline_) return false;
    bytes_.insert(bytes_.end(), chunk.begin(), chunk.end());
    return true;
  }

  const size_t bytes_max_;
  const steady_clock::time_point deadline_;
  int status_ = 0;
  std::string location_;
  bool too_long_ = false;
  Bytes bytes_;
};

}  // namespace

std::string_view HttpReply::Header(std::string_view name) const {
  return FindIgnoringCase(headers, name);
}

struct HttpClient::Call {
  std::string method;
  std::string path;
  std::string body = {};
  std::string content_type = {};
  // Both are for streams only.
  std::function<bool(const HttpReply& head)> on_head = nullptr;
  std::function<bool(std::string_view chunk)> on_chunk = nullptr;
};

HttpClient::HttpClient(std::string url, HttpClientOptions options)
    : url_(std::move(url)), options_(std::move(options)) {
  IgnoreBrokenPipes();
  const size_t scheme = url_.find("://");
  const size_t path = url_.find('/', scheme == std::string::npos ? 0 : scheme + 3);
  if (path == std::string::npos) return;
  prefix_ = url_.substr(path);
  url_.resize(path);
  while (prefix_.ends_with('/')) prefix_.pop_back();
}

Result<HttpReply> HttpClient::Send(const Call& call) const {
  const std::string what = call.method + " " + url_ + prefix_ + call.path;
  const Error no_address{ErrorCode::kInvalidArgument,
                         "invalid address " + url_ + "; expected http://host:port"};
  try {
    if (!url_.starts_with("http://") && !url_.starts_with("https://")) {
      return tl::unexpected<Error>(no_address);
    }
    httplib::Client client(url_);
    if (!client.is_valid()) return tl::unexpected<Error>(no_address);
    client.set_path_encode(false);
    client.set_tcp_nodelay(true);
    client.set_connection_timeout(std::chrono::milliseconds(options_.connect_timeout_ms));
    client.set_read_timeout(std::chrono::milliseconds(options_.timeout_ms));
    client.set_write_timeout(std::chrono::milliseconds(options_.timeout_ms));
    if (options_.total_timeout_ms > 0) {
      client.set_max_timeout(std::chrono::milliseconds(options_.total_timeout_ms));
    }
    client.set_header_writer(WriteHeadersWithoutExpect);

    httplib::Request request;
    request.method = call.method;
    request.path = prefix_ + call.path;
    request.body = call.body;
    for (const auto& [name, value] : options_.headers) request.set_header(name, value);
    if (!call.content_type.empty()) request.set_header("Content-Type", call.content_type);
    request.set_header("Accept-Encoding", "identity");
    request.set_header("Expect", "none");
    if (call.on_chunk) {
      client.set_decompress(false);
      request.response_handler = [&call](const httplib::Response& response) {
        HttpReply head;
        head.status = response.status;
        head.headers.assign(response.headers.begin(), response.headers.end());
        return call.on_head(head);
      };
      request.content_receiver = [&call](const char* bytes, size_t size, size_t, size_t) {
        return call.on_chunk(std::string_view(bytes, size));
      };
    }

    const httplib::Result result = client.send(request);
    if (!result) {
      const bool stopped = result.error() == httplib::Error::Canceled;
      return Fail(stopped ? ErrorCode::kCancelled : ErrorCode::kUnavailable,
                  what + " failed: " + httplib::to_string(result.error()));
    }
    HttpReply reply;
    reply.status = result->status;
    reply.body = result->body;
    reply.headers.assign(result->headers.begin(), result->headers.end());
    return reply;
  } catch (const std::exception& e) {
    return Fail(ErrorCode::kInvalidArgument, what + " failed: " + e.what());
  }
}

Result<HttpReply> HttpClient::Get(const std::string& path) const {
  return Send({.method = "GET", .path = path});
}

Result<HttpReply> HttpClient::Delete(const std::string& path) const {
  return Send({.method = "DELETE", .path = path});
}

Result<HttpReply> HttpClient::Post(const std::string& path, const std::string& body,
                                   const std::string& content_type) const {
  return Send({.method = "POST", .path = path, .body = body, .content_type = content_type});
}

Status HttpClient::GetStream(const std::string& path,
                             const std::function<bool(const HttpReply& head)>& on_head,
                             const std::function<bool(std::string_view chunk)>& on_chunk) const {
  Call call{.method = "GET", .path = path};
  call.on_head = on_head;
  call.on_chunk = on_chunk;
  const Result<HttpReply> reply = Send(call);
  if (reply || reply.error().code == ErrorCode::kCancelled) return {};
  return tl::unexpected<Error>(reply.error());
}

Status HttpClient::PostStream(const std::string& path, const std::string& body,
                              const std::function<bool(std::string_view chunk)>& on_chunk,
                              int* status, std::string* error_body, HttpReply* head) const {
  *status = 0;
  error_body->clear();
  Call call{.method = "POST", .path = path, .body = body, .content_type = "application/json"};
  call.on_head = [status](const HttpReply& received) {
    *status = received.status;
    return true;
  };
  call.on_chunk = [&](std::string_view chunk) {
    if (*status == 200) return on_chunk(chunk);
    error_body->append(chunk);
    return true;
  };
  Result<HttpReply> reply = Send(call);
  if (reply && head != nullptr) head->headers = std::move(reply->headers);
  if (reply || reply.error().code == ErrorCode::kCancelled) return {};
  return tl::unexpected<Error>(reply.error());
}

Result<Bytes> FetchUrl(const std::string& url, size_t bytes_max, const UrlFetchOptions& options) {
  const auto deadline = steady_clock::now() + std::chrono::milliseconds(options.time_ms_max);
  std::string next = url;
  for (size_t redirects = 0; redirects <= options.redirects_max; ++redirects) {
    const auto split = Split(next);
    if (!split) return tl::unexpected(split.error());
    Fetch fetch(bytes_max, deadline);
    if (Status got = fetch.Run(*split, options); !got) return tl::unexpected(got.error());
    if (!fetch.redirected()) return fetch.TakeBytes();
    if (fetch.location().empty()) {
      return Fail(ErrorCode::kUnavailable, "the web server redirects without an address");
    }
    next = Redirected(*split, fetch.location());
  }
  return Fail(ErrorCode::kUnavailable, "the web server redirects more than " +
                                           std::to_string(options.redirects_max) + " times");
}

}  // namespace cairn
