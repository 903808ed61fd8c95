// Numbers in the form that people read and write.

#ifndef CAIRN_BASE_NUMBER_TEXT_H_
#define CAIRN_BASE_NUMBER_TEXT_H_

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>

namespace cairn {

// Returns, for example, "12,345".
inline std::string WithCommas(size_t number) {
  std::string text = std::to_string(number);
  for (size_t i = text.size(); i > 3; i -= 3) text.insert(i - 3, 1, ',');
  return text;
}

// Returns `value` with `decimals` digits after the decimal point.
inline std::string Fixed(double value, int decimals) {
  char text[64];
  std::snprintf(text, sizeof(text), "%.*f", decimals, value);
  return text;
}

inline constexpr double kBytesPerGib = 1024.0 * 1024 * 1024;

// Returns a number of bytes in GiB, without the unit: "11.5".
inline std::string GibText(uint64_t bytes) {
  return Fixed(static_cast<double>(bytes) / kBytesPerGib, 1);
}

// Returns, for example, "0.84 ms", "12.3 ms", "340 ms", "1.25 s" or "75.0 s"; "-" for 0.
inline std::string MsText(double ms) {
  if (ms <= 0) return "-";
  if (ms < 9.995) return Fixed(ms, 2) + " ms";
  if (ms < 99.95) return Fixed(ms, 1) + " ms";
  if (ms < 999.5) return Fixed(ms, 0) + " ms";
  return Fixed(ms / 1000, ms < 9'995 ? 2 : 1) + " s";
}

// Returns 16 hexadecimal digits, as a hash is written.
inline std::string HexText(uint64_t bits) {
  char text[17];
  std::snprintf(text, sizeof(text), "%016llx", static_cast<unsigned long long>(bits));
  return text;
}

// Parses all of `text` as a number; nullopt if it contains anything but digits.
inline std::optional<uint64_t> ParseNumber(std::string_view text) {
  uint64_t number = 0;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), number);
  if (parsed.ec != std::errc() || parsed.ptr != text.data() + text.size()) return std::nullopt;
  return number;
}

}  // namespace cairn

#endif  // CAIRN_BASE_NUMBER_TEXT_H_
