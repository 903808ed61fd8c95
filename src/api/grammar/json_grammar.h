// GBNF for JSON without a schema: literals, rules of any value, string formats.

#ifndef CAIRN_API_GRAMMAR_JSON_GRAMMAR_H_
#define CAIRN_API_GRAMMAR_JSON_GRAMMAR_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace cairn {

// Returns a GBNF literal of the text, quoted and escaped.
std::string GbnfLiteral(std::string_view text);

// Returns the repetition operator for `least` to `most` occurrences: "{2,5}", "*", "?" …; no upper
// limit without `most`.
std::string GbnfTimes(size_t least, std::optional<size_t> most);

// Returns rules for integers in [least, most] as alternatives of digits; unbounded where a limit is
// absent.
std::string GbnfIntegers(std::optional<int64_t> least, std::optional<int64_t> most);

// Returns the rule of a string's "format", without quotes: "date", "time", "date-time", "uuid".
std::optional<std::string> GbnfOfFormat(std::string_view format);

// Returns the rule of a regular expression inside a JSON string. Supported, anchored at both ends
// ("^…$"): characters, '.', classes of ASCII, groups, alternatives, repetitions. kInvalidArgument
// for anything else.
Result<std::string> GbnfOfPattern(std::string_view pattern);

// Returns the rule of strings, without quotes and escapes, that are none of `names`. Nullopt if a
// name is too long.
std::optional<std::string> GbnfOfOtherNames(const std::vector<std::string>& names);

// Returns the rules that others use: "ws", "sp", "value", "string", "char", "number" …
const std::map<std::string, std::string, std::less<>>& JsonRules();

// Returns all rules, one per line.
std::string JsonRulesText();

// Returns rules that use JsonRules(), whatever prefix their names have, with strings that do not
// hold "<|": gpt-oss' tags begin with it, and a tag ends a message even inside a string.
std::string GbnfWithoutTags(std::string rules);

}  // namespace cairn

#endif  // CAIRN_API_GRAMMAR_JSON_GRAMMAR_H_
