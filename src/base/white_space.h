// ASCII white space, as chat templates trim it.

#ifndef CAIRN_BASE_WHITE_SPACE_H_
#define CAIRN_BASE_WHITE_SPACE_H_

#include <string_view>

namespace cairn {

inline constexpr std::string_view kWhiteSpace = " \t\r\n\f\v";

// Returns the part of `text` without leading and trailing white space.
inline std::string_view Trimmed(std::string_view text) {
  const size_t begin = text.find_first_not_of(kWhiteSpace);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kWhiteSpace) + 1 - begin);
}

}  // namespace cairn

#endif  // CAIRN_BASE_WHITE_SPACE_H_
