#include "http/router.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <tuple>
#include <utility>

#include "base/check.h"
#include "base/nearest_word.h"
#include "base/text.h"
#include "http/server_words.h"

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

// Longer paths are no typing errors, and comparing takes the product of the lengths.
constexpr size_t kPathMax = 80;
constexpr size_t kErrorsMax = 2;
// A path has at least so many characters for each error, or anything would be near to it.
constexpr size_t kCharactersPerError = 4;

// llama-server's paths that this server has not on purpose, with the reason.
constexpr std::array<std::pair<std::string_view, std::string_view>, 2> kLeftOut = {
    {{"/cors-proxy", "the server sends no requests for web pages; let the page's own server do it"},
     {"/tools", "the server runs no tools; clients run them"}}};

// In small letters, without slashes at the end or one behind the other.
std::string Plain(std::string_view path) {
  std::string plain;
  for (const char c : path) {
    if (c == '/' && plain.ends_with('/')) continue;
    plain += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  if (plain.size() > 1 && plain.ends_with('/')) plain.pop_back();
  return plain;
}

// Returns the route's path with the request's own words where any word will do. Both are cut to
// what they have in common at their ends: /v1/messages and /messages to the latter.
std::string Filled(std::string_view pattern, std::string_view path) {
  const auto of_pattern = PathSegments(pattern);
  const auto of_path = PathSegments(path);
  std::string filled;
  for (size_t i = 0; i < of_pattern.size(); ++i) {
    const size_t from_end = of_pattern.size() - i;
    const bool any = of_pattern[i].starts_with(':');
    filled += '/';
    filled +=
        any && from_end <= of_path.size() ? of_path[of_path.size() - from_end] : of_pattern[i];
  }
  return filled;
}

// Returns the path without what some clients put before it, once or twice.
std::string_view Core(std::string_view path) {
  constexpr std::string_view kPrefixes[] = {"/v1", "/api", "/openai"};
  for (size_t i = 0; i < std::size(kPrefixes); ++i) {
    const std::string_view prefix = kPrefixes[i];
    if (!path.starts_with(prefix) || path.substr(prefix.size(), 1) != "/") continue;
    path.remove_prefix(prefix.size());
    i = SIZE_MAX;  // from the first one again
  }
  return path;
}

// Returns how far `path` is from a route's; kErrorsMax + 1: too far.
size_t Distance(std::string_view path, std::string_view route) {
  const std::string_view core = Core(path);
  const std::string_view route_core = Core(route);
  const size_t longer = std::max(core.size(), route_core.size());
  if (longer - std::min(core.size(), route_core.size()) > kErrorsMax) return kErrorsMax + 1;
  const size_t errors = EditsBetween(core, route_core);
  return errors * kCharactersPerError > longer ? kErrorsMax + 1 : errors;
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

std::string NearestRoute(const std::vector<std::string>& routes, std::string_view method,
                         std::string_view path) {
  if (path.size() > kPathMax || !path.starts_with('/')) return {};
  const std::string plain = Plain(path);
  if (method == "HEAD") method = "GET";
  // The least of these is the best: errors, another method, no version, a shorter path.
  using Rank = std::tuple<size_t, bool, bool, size_t>;
  Rank best_rank{kErrorsMax + 1, false, false, 0};
  std::string best;
  for (const std::string& name : routes) {
    const size_t space = name.find(' ');
    const std::string_view pattern = std::string_view(name).substr(space + 1);
    const size_t errors = Distance(plain, Filled(pattern, plain));
    if (errors > kErrorsMax) continue;
    const Rank rank{errors, std::string_view(name).substr(0, space) != method,
                    !pattern.starts_with("/v1/"), pattern.size()};
    if (rank >= best_rank) continue;
    best_rank = rank;
    best = name;
  }
  return best;
}

NoRoute AnswerWithoutRoute(const std::vector<std::string>& routes, std::string_view method,
                           const std::string& path) {
  const std::string shown = Shown(path);
  for (const auto& [left_out, why] : kLeftOut) {
    if (path == left_out) return {403, shown + " is not offered: " + std::string(why)};
  }
  return {404, "no route at " + shown + DidYouMean(NearestRoute(routes, method, path))};
}

}  // namespace cairn
