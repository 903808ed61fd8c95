// White space as chat templates trim it: that of ASCII.

#ifndef CAIRN_BASE_WHITE_SPACE_H_
#define CAIRN_BASE_WHITE_SPACE_H_

#include <string_view>

namespace cairn {

inline constexpr std::string_view kWhiteSpace = " \t\r\n\f\v";

// Without what is at its ends; a part of `text`.
inline std::string_view Trimmed(std::string_view text) {
  const size_t begin = text.find_first_not_of(kWhiteSpace);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kWhiteSpace) + 1 - begin);
}

}  // namespace cairn

#endif  // CAIRN_BASE_WHITE_SPACE_H_
