// Pieces of GBNF for JSON, without the schema: literals, the rules of any value, string formats.

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

// A GBNF literal of the text: in quotes, escaped.
std::string GbnfLiteral(std::string_view text);

// "{2,5}", "*", "?" … for that many of what stands before; without `most`, no limit.
std::string GbnfTimes(size_t least, std::optional<size_t> most);

// Integers in [least, most], as alternatives of digits; no end where one is absent.
std::string GbnfIntegers(std::optional<int64_t> least, std::optional<int64_t> most);

// What a string's "format" allows, without the quotes: "date", "time", "date-time", "uuid".
std::optional<std::string> GbnfOfFormat(std::string_view format);

// What a regular expression allows inside a JSON string. Anchored at both ends, "^…$": characters,
// '.', classes of ASCII, groups, alternatives, repetitions. kInvalidArgument: what is not in that.
Result<std::string> GbnfOfPattern(std::string_view pattern);

// Strings, without the quotes and without escapes, that are none of `names`. Nothing: a name is too
// long for that.
std::optional<std::string> GbnfOfOtherNames(const std::vector<std::string>& names);

// The rules that others name: "ws", "sp", "value", "string", "char", "number" …
const std::map<std::string, std::string, std::less<>>& JsonRules();

// All of them, a line each.
std::string JsonRulesText();

}  // namespace cairn

#endif  // CAIRN_API_GRAMMAR_JSON_GRAMMAR_H_
