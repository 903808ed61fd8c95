#include "base/text.h"

#include <algorithm>

namespace cairn {
namespace {

char Lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

}  // namespace

bool SameIgnoringCase(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](char x, char y) { return Lower(x) == Lower(y); });
}

std::string_view FindIgnoringCase(const std::vector<std::pair<std::string, std::string>>& values,
                                  std::string_view name) {
  for (const auto& [key, value] : values) {
    if (SameIgnoringCase(key, name)) return value;
  }
  return {};
}

}  // namespace cairn
