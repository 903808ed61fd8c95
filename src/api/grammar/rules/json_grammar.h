// GBNF for JSON without a schema: literals, rules of any value, string formats.

#ifndef CAIRN_API_GRAMMAR_RULES_JSON_GRAMMAR_H_
#define CAIRN_API_GRAMMAR_RULES_JSON_GRAMMAR_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cairn {

// Whether a rule's name may hold the character.
inline bool IsRuleNameChar(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-';
}

// Returns a GBNF literal of the text, quoted and escaped.
std::string GbnfLiteral(std::string_view text);

// Returns the repetition operator for `least` to `most` occurrences: "{2,5}", "*", "?" …; no upper
// limit without `most`.
std::string GbnfTimes(size_t least, std::optional<size_t> most);

// Returns rules for integers in [least, most] as alternatives of digits; unbounded where a limit is
// absent.
std::string GbnfIntegers(std::optional<int64_t> least, std::optional<int64_t> most);

// Returns the shared rule of one character inside a JSON string, raw or escaped: "x61" for 'a'.
std::string JsonCharacterRule(uint32_t character);

// Returns the rules that others use: "ws", "sp", "value", "string", "char", "number" …
const std::map<std::string, std::string, std::less<>>& JsonRules();

// Returns the rules with those of JsonRules() and JsonCharacterRule() behind them that they use,
// one per line. Rules that are there already stay.
std::string WithJsonRules(std::string rules);

// Returns rules that use JsonRules(), whatever prefix their names have, with strings that do not
// hold "<|": gpt-oss' tags begin with it, and a tag ends a message even inside a string.
std::string GbnfWithoutTags(std::string rules);

}  // namespace cairn

#endif  // CAIRN_API_GRAMMAR_RULES_JSON_GRAMMAR_H_
