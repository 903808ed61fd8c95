// Scanning a text that arrives in parts: the results and steps that the readers of calls share.

#ifndef CAIRN_CHAT_TEXT_CALLS_SCAN_H_
#define CAIRN_CHAT_TEXT_CALLS_SCAN_H_

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace cairn {

inline constexpr std::string_view kCallWhiteSpace = " \t\r\n";

enum class Scan : uint8_t {
  kFound,
  kMore,     // the text ends too early to decide
  kNotHere,  // something else is here, whatever follows
};

// Returns the position of the first byte from `at` on that is not white space, or the text's size.
inline size_t SkipWhiteSpace(std::string_view text, size_t at) {
  const size_t found = text.find_first_not_of(kCallWhiteSpace, at);
  return found == std::string_view::npos ? text.size() : found;
}

// Returns whether `word` is at `at`; if so, moves `at` past it.
inline Scan TakeWord(std::string_view text, std::string_view word, size_t* at) {
  const std::string_view rest = text.substr(*at);
  if (rest.starts_with(word)) {
    *at += word.size();
    return Scan::kFound;
  }
  return word.starts_with(rest) ? Scan::kMore : Scan::kNotHere;
}

// Skips white space and the tag that closes a call. An answer may end before the tag or inside it:
// the call itself is complete.
inline Scan TakeClose(std::string_view text, std::string_view tag, bool finished, size_t* at) {
  *at = SkipWhiteSpace(text, *at);
  const Scan scan = TakeWord(text, tag, at);
  if (scan != Scan::kMore || !finished) return scan;
  *at = text.size();
  return Scan::kFound;
}

}  // namespace cairn

#endif  // CAIRN_CHAT_TEXT_CALLS_SCAN_H_
