// Short texts: white space, lists of names, names whose case does not matter, and numbers in the
// form that people read and write.

#ifndef CAIRN_BASE_TEXT_H_
#define CAIRN_BASE_TEXT_H_

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace cairn {

// ASCII white space, as chat templates trim it.
inline constexpr std::string_view kWhiteSpace = " \t\r\n\f\v";
// JSON's, which is all that models write between the parts of an answer.
inline constexpr std::string_view kLineSpace = " \t\r\n";

// Returns the part of `text` without leading and trailing white space.
inline std::string_view Trimmed(std::string_view text) {
  const size_t begin = text.find_first_not_of(kWhiteSpace);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kWhiteSpace) + 1 - begin);
}

// Whether `part` is somewhere in `text`.
inline bool Contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

// Formats a list of names for a message, "a, b, c". `names` is any range whose elements convert to
// std::string_view.
template <typename Names>
std::string JoinNames(const Names& names) {
  std::string joined;
  for (const std::string_view name : names) {
    if (!joined.empty()) joined += ", ";
    joined += name;
  }
  return joined;
}

// Whether two names are the same but for their case, such as those of HTTP headers. Only ASCII
// letters are folded, whatever the locale.
bool SameIgnoringCase(std::string_view a, std::string_view b);

// Returns the value of the first entry with that name, or an empty view. The view points into
// `values`.
std::string_view FindIgnoringCase(const std::vector<std::pair<std::string, std::string>>& values,
                                  std::string_view name);

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

#endif  // CAIRN_BASE_TEXT_H_
