#include "http/keys.h"

#include <cstddef>
#include <cstdint>

#include "base/ignore_case.h"

namespace cairn {

bool ConstantTimeEquals(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) return false;
  // Volatile keeps the compiler from leaving the loop at the first difference.
  volatile uint8_t difference = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    difference = static_cast<uint8_t>(difference |
                                      (static_cast<uint8_t>(a[i]) ^ static_cast<uint8_t>(b[i])));
  }
  return difference == 0;
}

int MatchKey(std::span<const std::string> keys, std::string_view given) {
  int match = -1;
  for (size_t i = 0; i < keys.size(); ++i) {
    const bool equal = ConstantTimeEquals(keys[i], given);
    if (equal && match < 0) match = static_cast<int>(i);
  }
  return match;
}

std::string_view BearerToken(std::string_view authorization) {
  constexpr std::string_view kScheme = "bearer ";
  if (!SameIgnoringCase(authorization.substr(0, kScheme.size()), kScheme)) return {};
  authorization.remove_prefix(kScheme.size());
  while (!authorization.empty() && authorization.front() == ' ') authorization.remove_prefix(1);
  return authorization;
}

}  // namespace cairn
