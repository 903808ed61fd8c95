#include "http/router.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/join.h"

namespace cairn {
namespace {

int HexValue(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

bool IsCapture(std::string_view segment) {
  return segment.starts_with(':');
}

bool Matches(const std::vector<std::string>& pattern, const std::vector<std::string>& path) {
  if (pattern.size() != path.size()) return false;
  for (size_t i = 0; i < pattern.size(); ++i) {
    if (IsCapture(pattern[i]) ? path[i].empty() : pattern[i] != path[i]) return false;
  }
  return true;
}

}  // namespace

std::vector<std::string_view> PathSegments(std::string_view path) {
  std::vector<std::string_view> segments;
  while (!path.empty()) {
    path.remove_prefix(1);  // the slash
    segments.push_back(path.substr(0, path.find('/')));
    path.remove_prefix(segments.back().size());
  }
  return segments;
}

std::string PercentDecode(std::string_view text) {
  std::string decoded;
  decoded.reserve(text.size());
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '%' && i + 2 < text.size()) {
      const int high = HexValue(text[i + 1]);
      const int low = HexValue(text[i + 2]);
      if (high >= 0 && low >= 0) {
        decoded.push_back(static_cast<char>(high * 16 + low));
        i += 2;
        continue;
      }
    }
    decoded.push_back(text[i]);
  }
  return decoded;
}

std::string_view TargetWithQuery(std::string_view target) {
  for (std::string_view scheme : {"http://", "https://"}) {
    if (!target.starts_with(scheme)) continue;
    const size_t path = target.find_first_of("/?#", scheme.size());
    if (path == std::string_view::npos || target[path] != '/') return "/";
    target.remove_prefix(path);
    break;
  }
  return target.substr(0, target.find('#'));
}

std::string_view TargetPath(std::string_view target) {
  target = TargetWithQuery(target);
  return target.substr(0, target.find('?'));
}

std::string_view WithoutPrefix(std::string_view prefix, std::string_view target) {
  if (prefix.empty()) return target;
  if (!target.starts_with(prefix)) return {};
  target.remove_prefix(prefix.size());
  if (target.empty()) return "/";
  return target.starts_with('/') || target.starts_with('?') ? target : std::string_view();
}

size_t Router::Add(std::string method, std::string_view pattern) {
  CHECK(pattern.starts_with('/'));
  Route route;
  route.method = std::move(method);
  for (std::string_view segment : PathSegments(pattern)) {
    route.segments.emplace_back(segment);
    route.has_captures = route.has_captures || IsCapture(segment);
  }
  routes_.push_back(std::move(route));
  return routes_.size() - 1;
}

std::vector<std::string> Router::Names() const {
  std::vector<std::string> names;
  for (const Route& route : routes_) {
    names.push_back(route.method + " ");
    for (const std::string& segment : route.segments) names.back() += "/" + segment;
  }
  return names;
}

RouteMatch Router::Find(std::string_view method, std::string_view path) const {
  constexpr std::string_view kVersion = "/v1";
  RouteMatch match = FindExactly(method, path);
  if (match.path_known || !path.starts_with('/')) return match;
  const auto has_version = [&](std::string_view text) {
    return text.starts_with(kVersion) && text.size() > kVersion.size() + 1 &&
           text[kVersion.size()] == '/';
  };
  if (!has_version(path)) return FindExactly(method, std::string(kVersion) + std::string(path));
  const std::string_view rest = path.substr(kVersion.size());
  return has_version(rest) ? match : FindExactly(method, rest);
}

RouteMatch Router::FindExactly(std::string_view method, std::string_view path) const {
  RouteMatch match;
  if (!path.starts_with('/')) return match;
  std::vector<std::string> segments;
  for (std::string_view segment : PathSegments(path)) segments.push_back(PercentDecode(segment));

  std::vector<std::string> allowed;
  const std::string_view wanted = method == "HEAD" ? "GET" : method;
  const Route* best = nullptr;
  for (const Route& route : routes_) {
    if (!Matches(route.segments, segments)) continue;
    match.path_known = true;
    allowed.push_back(route.method);
    if (route.method == "GET") allowed.push_back("HEAD");
    if (route.method != wanted) continue;
    if (best == nullptr || (best->has_captures && !route.has_captures)) best = &route;
  }
  if (best != nullptr) {
    match.found = true;
    match.route = static_cast<size_t>(best - routes_.data());
    for (size_t i = 0; i < segments.size(); ++i) {
      if (IsCapture(best->segments[i])) match.captures[best->segments[i].substr(1)] = segments[i];
    }
  }
  std::sort(allowed.begin(), allowed.end());
  allowed.erase(std::unique(allowed.begin(), allowed.end()), allowed.end());
  match.allow = JoinNames(allowed);
  return match;
}

}  // namespace cairn
