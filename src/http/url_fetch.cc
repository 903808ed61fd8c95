#include "http/url_fetch.h"

#include <algorithm>
#include <chrono>
#include <string_view>

#include "base/ignore_case.h"
#include "http/http_client.h"

namespace cairn {
namespace {

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
