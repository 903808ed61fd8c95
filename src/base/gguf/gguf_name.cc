#include "base/gguf/gguf_name.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdio>
#include <cstdlib>

namespace cairn {
namespace {

// Returns the number of five digits at `at`; nullopt if there is none.
std::optional<int> FiveDigits(std::string_view text, size_t at) {
  const std::string digits(text.substr(at, 5));
  const bool all = digits.size() == 5 && std::all_of(digits.begin(), digits.end(), [](char c) {
                     return std::isdigit(static_cast<unsigned char>(c)) != 0;
                   });
  return all ? std::optional<int>(std::atoi(digits.c_str())) : std::nullopt;
}

}  // namespace

std::optional<GgufName> ParseGgufName(std::string_view path) {
  constexpr std::string_view kEnd = ".gguf";
  constexpr std::string_view kSplit = "-00001-of-00001";
  if (!path.ends_with(kEnd)) return std::nullopt;
  path.remove_suffix(kEnd.size());
  GgufName name;
  if (path.size() > kSplit.size()) {
    const size_t begin = path.size() - kSplit.size();
    const auto part = FiveDigits(path, begin + 1);
    const auto parts = FiveDigits(path, begin + 10);
    if (part && parts && path[begin] == '-' && path.substr(begin + 6, 4) == "-of-" && *part >= 1 &&
        *part <= *parts) {
      name.numbered = true;
      name.part = *part;
      name.parts = *parts;
      path.remove_suffix(kSplit.size());
    }
  }
  name.stem = path;
  return name;
}

std::string PartName(const GgufName& name, int part) {
  if (!name.numbered) return name.stem + ".gguf";
  std::array<char, 40> numbers{};
  std::snprintf(numbers.data(), numbers.size(), "-%05d-of-%05d.gguf", part, name.parts);
  return name.stem + numbers.data();
}

}  // namespace cairn
