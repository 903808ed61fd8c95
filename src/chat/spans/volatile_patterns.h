// Texts that known clients change in their messages without a meaning: `--pin-volatile auto`.
//
//   Today's date: 2026-11-23          <total_tokens>181,204</total_tokens>
//   Current time: Monday, 4:05 PM
//
// A date matches only after words that announce it, because a date that a person writes has a
// meaning.

#ifndef CAIRN_CHAT_SPANS_VOLATILE_PATTERNS_H_
#define CAIRN_CHAT_SPANS_VOLATILE_PATTERNS_H_

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace cairn {

// The name that stands for all of these patterns.
inline constexpr std::string_view kBuiltinVolatile = "auto";

// Returns regular expressions for VolatileText. Constant.
std::vector<std::string> BuiltinVolatilePatterns();

// Returns regular expressions of values that no words announce: dates, times, counters of what is
// left, and random ids. A change of one may be an edit. Constant.
std::vector<std::string> UnannouncedVolatilePatterns();

// Returns `patterns` with "auto" replaced by the patterns that it stands for.
std::vector<std::string> WithBuiltinPatterns(const std::vector<std::string>& patterns);

}  // namespace cairn

#endif  // CAIRN_CHAT_SPANS_VOLATILE_PATTERNS_H_
