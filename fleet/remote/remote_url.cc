#include "fleet/remote/remote_url.h"

#include <netdb.h>

#include <algorithm>
#include <charconv>
#include <memory>

#include "base/net/loopback.h"

namespace cairn {
namespace {

constexpr std::string_view kForms =
    "expected valkey://HOST:PORT, valkeys://HOST:PORT (TLS) or s3://BUCKET/PREFIX";

tl::unexpected<Error> Invalid(const std::string& why) {
  return Fail(ErrorCode::kInvalidArgument, why + "; " + std::string(kForms));
}

Result<RemoteUrl> ParseS3(std::string_view rest) {
  RemoteUrl url;
  url.kind = RemoteUrl::Kind::kS3;
  const size_t slash = std::min(rest.find('/'), rest.size());
  url.bucket = rest.substr(0, slash);
  rest.remove_prefix(slash);
  while (rest.starts_with('/')) rest.remove_prefix(1);
  while (rest.ends_with('/')) rest.remove_suffix(1);
  if (url.bucket.empty()) return Invalid("it names no bucket");
  constexpr std::string_view kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._";
  if (url.bucket.find_first_not_of(kPlain) != std::string::npos) {
    return Invalid("a bucket has letters, digits, '-', '.' and '_'");
  }
  if (rest.find_first_not_of(std::string(kPlain) + "/") != std::string_view::npos) {
    return Invalid("a prefix has letters, digits, '-', '.', '_' and '/'");
  }
  url.prefix = rest.empty() ? "" : std::string(rest) + "/";
  return url;
}

Result<RemoteUrl> ParseValkey(std::string_view rest, bool tls) {
  RemoteUrl url;
  url.tls = tls;
  while (rest.ends_with('/')) rest.remove_suffix(1);
  std::string_view port;
  if (rest.starts_with('[')) {
    const size_t end = rest.find(']');
    if (end == std::string_view::npos) return Invalid("a ']' is missing");
    url.host = rest.substr(1, end - 1);
    rest.remove_prefix(end + 1);
    if (!rest.empty() && rest.front() != ':') return Invalid("a port begins with ':'");
    port = rest.empty() ? rest : rest.substr(1);
  } else {
    const size_t colon = std::min(rest.find(':'), rest.size());
    url.host = rest.substr(0, colon);
    port = rest.substr(std::min(colon + 1, rest.size()));
  }
  if (url.host.empty()) return Invalid("it names no host");
  if (url.host.find('/') != std::string::npos) return Invalid("nothing follows the port");
  if (port.empty()) return url;
  const auto parsed = std::from_chars(port.data(), port.data() + port.size(), url.port);
  if (parsed.ec != std::errc() || parsed.ptr != port.data() + port.size() || url.port == 0) {
    return Invalid("a port is a number from 1 to 65535");
  }
  return url;
}

}  // namespace

Result<RemoteUrl> ParseRemoteUrl(std::string_view text) {
  const size_t at = text.find("://");
  if (at == std::string_view::npos) return Invalid("it is no URL");
  const std::string_view scheme = text.substr(0, at);
  const std::string_view rest = text.substr(at + 3);
  if (rest.find('@') != std::string_view::npos) {
    return Fail(ErrorCode::kInvalidArgument,
                "a user or a password in it would be seen in the process list; put them into a "
                "file, and name that with --remote-credentials or --remote-index-credentials");
  }
  if (scheme == "s3") return ParseS3(rest);
  if (scheme == "valkey" || scheme == "redis") return ParseValkey(rest, false);
  if (scheme == "valkeys" || scheme == "rediss") return ParseValkey(rest, true);
  return Invalid("its scheme is not known");
}

bool IsLoopbackHost(const std::string& host) {
  addrinfo hints = {};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (getaddrinfo(host.c_str(), nullptr, &hints, &found) != 0) return false;
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> owner(found, &freeaddrinfo);
  for (const addrinfo* one = found; one != nullptr; one = one->ai_next) {
    if (!IsLoopback(one->ai_addr)) return false;
  }
  return found != nullptr;
}

}  // namespace cairn
