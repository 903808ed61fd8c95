#include "http/nearest_route.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <tuple>
#include <utility>

#include "base/nearest_word.h"
#include "http/router.h"
#include "http/server_words.h"

namespace cairn {
namespace {

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
