// ASCII white space, as chat templates trim it, and what a text contains.

#ifndef CAIRN_BASE_WHITE_SPACE_H_
#define CAIRN_BASE_WHITE_SPACE_H_

#include <string_view>

namespace cairn {

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

}  // namespace cairn

#endif  // CAIRN_BASE_WHITE_SPACE_H_
