#include "http/browsers.h"

#include <algorithm>

#include "base/text.h"

namespace cairn {
namespace {

constexpr std::string_view kAny = "*";
constexpr std::string_view kThisMachine = "localhost";

bool IsOrigin(std::string_view text) {
  const size_t scheme = text.find("://");
  if (scheme == 0 || scheme == std::string_view::npos) return false;
  const std::string_view host = text.substr(scheme + 3);
  return !host.empty() &&
         std::all_of(text.begin(), text.end(), [](char c) { return c > ' ' && c < 127; }) &&
         host.find_first_of("/?#*,@") == std::string_view::npos;
}

std::string_view WithoutPort(std::string_view host);

bool IsOfThisMachine(std::string_view origin) {
  for (const std::string_view scheme : {"http://", "https://"}) {
    if (!origin.starts_with(scheme)) continue;
    const std::string_view host = origin.substr(scheme.size());
    return !WithoutPort(host).empty() && NamesLoopback(host, kThisMachine);
  }
  return false;
}

std::string_view WithoutPort(std::string_view host) {
  if (host.starts_with('[')) return host.substr(0, host.find(']') + 1);
  return host.substr(0, host.find(':'));
}

}  // namespace

Status CheckOrigins(const std::vector<std::string>& origins, bool has_keys) {
  for (const std::string& origin : origins) {
    if (origin == kAny && !has_keys) {
      return Fail(ErrorCode::kInvalidArgument,
                  "--cors-origin '*' allows every web page and needs --api-key");
    }
    if (origin != kAny && origin != kThisMachine && !IsOrigin(origin)) {
      return Fail(ErrorCode::kInvalidArgument,
                  "--cors-origin takes '*', 'localhost' or an origin as "
                  "https://example.org:8443, not '" +
                      origin + "'");
    }
  }
  return {};
}

bool AllowsOrigin(const std::vector<std::string>& origins, std::string_view origin) {
  return !origin.empty() && std::any_of(origins.begin(), origins.end(), [&](const auto& allowed) {
    if (allowed == kThisMachine) return IsOfThisMachine(origin);
    return allowed == kAny || allowed == origin;
  });
}

HttpHeaders CorsHeaders(const std::vector<std::string>& origins, const std::string& origin) {
  if (!AllowsOrigin(origins, origin)) return {};
  const bool any = std::find(origins.begin(), origins.end(), kAny) != origins.end();
  return {{"Access-Control-Allow-Origin", any ? std::string(kAny) : origin},
          {"Access-Control-Expose-Headers", any ? std::string(kAny) : "x-request-id, request-id"},
          {"Vary", "Origin"}};
}

HttpHeaders PreflightHeaders(const std::string& methods, const Preflight& wanted) {
  HttpHeaders headers = {{"Access-Control-Allow-Methods", methods},
                         {"Access-Control-Max-Age", "600"}};
  if (!wanted.headers.empty()) {
    headers.emplace_back("Access-Control-Allow-Headers", wanted.headers);
  }
  if (wanted.private_network) headers.emplace_back("Access-Control-Allow-Private-Network", "true");
  return headers;
}

bool IsSameOrigin(std::string_view origin, std::string_view host) {
  for (const std::string_view scheme : {"http://", "https://"}) {
    if (origin.starts_with(scheme)) return SameIgnoringCase(origin.substr(scheme.size()), host);
  }
  return false;
}

bool NamesLoopback(std::string_view host, std::string_view own) {
  const std::string_view name = WithoutPort(host);
  if (name.empty() || name == "[::1]" || SameIgnoringCase(name, "localhost")) return true;
  if (SameIgnoringCase(name, own)) return true;
  return name.starts_with("127.") &&
         name.find_first_not_of("0123456789.") == std::string_view::npos;
}

}  // namespace cairn
