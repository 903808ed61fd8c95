// What clients are known to change in their messages without meaning it: `--pin-volatile auto`.
//
//   Today's date: 2026-11-23          <total_tokens>181,204</total_tokens>
//   Current time: Monday, 4:05 PM
//
// A date counts only behind words that name it, for a date that a person writes is meant.

#ifndef CAIRN_CHAT_SPANS_VOLATILE_PATTERNS_H_
#define CAIRN_CHAT_SPANS_VOLATILE_PATTERNS_H_

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace cairn {

// The name that stands for all of them.
inline constexpr std::string_view kBuiltinVolatile = "auto";

// Regular expressions for VolatileText. Constant.
std::vector<std::string> BuiltinVolatilePatterns();

// `patterns` with those of "auto" in its place.
std::vector<std::string> WithBuiltinPatterns(const std::vector<std::string>& patterns);

}  // namespace cairn

#endif  // CAIRN_CHAT_SPANS_VOLATILE_PATTERNS_H_
