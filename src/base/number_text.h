// Numbers as people read and write them.

#ifndef CAIRN_BASE_NUMBER_TEXT_H_
#define CAIRN_BASE_NUMBER_TEXT_H_

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>

namespace cairn {

// "12,345".
inline std::string WithCommas(size_t number) {
  std::string text = std::to_string(number);
  for (size_t i = text.size(); i > 3; i -= 3) text.insert(i - 3, 1, ',');
  return text;
}

// All of `text` as a number: digits and nothing else.
inline std::optional<uint64_t> ParseNumber(std::string_view text) {
  uint64_t number = 0;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), number);
  if (parsed.ec != std::errc() || parsed.ptr != text.data() + text.size()) return std::nullopt;
  return number;
}

}  // namespace cairn

#endif  // CAIRN_BASE_NUMBER_TEXT_H_
