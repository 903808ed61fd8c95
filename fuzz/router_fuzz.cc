// Paths: decoding reverses encoding, a target's path is a part of it, and a router finds exactly
// the routes whose patterns match.

#include <string>
#include <string_view>
#include <vector>

#include "base/check.h"
#include "fuzz/input.h"
#include "http/keys.h"
#include "http/router.h"

namespace cairn {
namespace {

std::string PercentEncoded(std::string_view text) {
  constexpr std::string_view kDigits = "0123456789aBcDeF";
  std::string encoded;
  for (const char c : text) {
    const auto byte = static_cast<uint8_t>(c);
    encoded += {'%', kDigits[byte >> 4U], kDigits[byte & 15U]};
  }
  return encoded;
}

struct Pattern {
  std::string_view method;
  std::string_view path;
};
constexpr Pattern kPatterns[] = {{"GET", "/"},           {"GET", "/slots"},
                                 {"POST", "/slots/:id"}, {"GET", "/slots/:id"},
                                 {"POST", "/slots/all"}, {"DELETE", "/v1/:kind/:id"},
                                 {"GET", "/v1/a%2Fb/:x"}};

const Router& TheRouter() {
  static const Router* const router = [] {
    auto* made = new Router();
    for (const Pattern& pattern : kPatterns) made->Add(std::string(pattern.method), pattern.path);
    return made;
  }();
  return *router;
}

size_t Slashes(std::string_view text) {
  return static_cast<size_t>(std::count(text.begin(), text.end(), '/'));
}

void CheckFind(std::string_view method, std::string_view path) {
  const RouteMatch match = TheRouter().Find(method, path);
  CHECK(!match.found || match.path_known);
  CHECK(match.path_known == !match.allow.empty());
  if (match.path_known) CHECK(path.starts_with('/'));
  if (!match.found) {
    CHECK(match.captures.empty());
    return;
  }
  const Pattern& pattern = kPatterns[match.route];
  CHECK(pattern.method == (method == "HEAD" ? "GET" : method));
  CHECK(match.allow.find(method) != std::string::npos);
  CHECK(Slashes(pattern.path) == Slashes(path));
  CHECK(match.captures.size() ==
        static_cast<size_t>(std::count(pattern.path.begin(), pattern.path.end(), ':')));
  for (const auto& [name, value] : match.captures) CHECK(!value.empty());
}

void CheckTarget(std::string_view target) {
  const std::string_view path = TargetPath(target);
  CHECK(path.find_first_of("?#") == std::string_view::npos);
  CHECK(path == "/" || target.find(path) != std::string_view::npos);
  if (target.starts_with('/')) CHECK(target.starts_with(path));
}

// A valid key is recognised by its form in a header until it is removed.
void CheckKeys(const std::string& key) {
  const auto keys = ApiKeys::Make({"k", key});
  if (!keys) return;
  CHECK((*keys)->Match(PercentDecode(key)) == (key == "k" ? 1U : 2U));
  CHECK((*keys)->Match("k") == 1);
  CHECK((*keys)->Replace({key}).has_value());
  CHECK((*keys)->Match(PercentDecode(key)) == (key == "k" ? 1U : 2U));
  CHECK((*keys)->Match("k") == (key == "k" ? 1U : 0U));
}

}  // namespace
}  // namespace cairn

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace cairn;  // NOLINT: the target begins here
  fuzz::FuzzInput input(data, size);
  constexpr std::string_view kMethods[] = {"GET", "HEAD", "POST", "DELETE", "PUT"};
  const std::string_view method = kMethods[input.Below(std::size(kMethods))];
  const std::string_view text = input.RestText();
  CHECK(PercentDecode(PercentEncoded(text)) == text);
  const std::string decoded = PercentDecode(text);
  CHECK(decoded.size() <= text.size());
  if (text.find('%') == std::string_view::npos) CHECK(decoded == text);
  CheckTarget(text);
  CheckFind(method, text);
  CheckFind(method, TargetPath(text));
  // Any segment is found, in every encoding.
  if (!text.empty()) {
    const RouteMatch match = TheRouter().Find("DELETE", "/v1/k/" + PercentEncoded(text));
    CHECK(match.found && match.captures.at("id") == text);
  }
  const std::string_view key = BearerToken(text);
  CHECK(text.ends_with(key));
  CheckKeys(std::string(text));
  return 0;
}
