#include "api/grammar/rules/json_grammar.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <set>
#include <utility>

#include "base/utf8.h"

namespace cairn {
namespace {

void AppendEscaped(char c, std::string* text) {
  constexpr std::string_view kHex = "0123456789abcdef";
  const auto byte = static_cast<uint8_t>(c);
  if (c == '"' || c == '\\' || c == '[' || c == ']') {
    *text += '\\';
    *text += c;
  } else if (byte < 0x20 || byte == 0x7F || c == '^') {
    *text += "\\x";
    *text += kHex[byte >> 4];
    *text += kHex[byte & 15];
  } else if (c == '-') {
    *text += "\\-";
  } else {
    *text += c;
  }
}

std::string Digits(char low, char high) {
  if (low == high) return GbnfLiteral(std::string(1, low));
  return std::string("[") + low + "-" + high + "]";
}

std::string AnyDigits(size_t count) {
  return count == 0 ? "" : " [0-9]" + (count == 1 ? std::string() : GbnfTimes(count, count));
}

// Returns rules for the numbers from `low` to `high`, which have the same number of digits.
void AppendSameLength(const std::string& low, const std::string& high, const std::string& front,
                      std::vector<std::string>* choices) {
  if (low.empty()) {
    choices->push_back(front);
    return;
  }
  const std::string rest_low = low.substr(1);
  const std::string rest_high = high.substr(1);
  const auto with = [&](const std::string& digit) {
    return front.empty() ? digit : front + " " + digit;
  };
  if (low[0] == high[0]) {
    return AppendSameLength(rest_low, rest_high, with(Digits(low[0], low[0])), choices);
  }
  const std::string nines(rest_low.size(), '9');
  const std::string zeros(rest_low.size(), '0');
  char from = low[0];
  char to = high[0];
  if (rest_low != zeros) {
    AppendSameLength(rest_low, nines, with(Digits(from, from)), choices);
    ++from;
  }
  if (rest_high != nines) --to;
  if (from <= to) choices->push_back(with(Digits(from, to)) + AnyDigits(rest_low.size()));
  if (rest_high != nines) {
    AppendSameLength(zeros, rest_high, with(Digits(high[0], high[0])), choices);
  }
}

constexpr uint64_t kNoEnd = std::numeric_limits<uint64_t>::max();

// Returns rules for the numbers from `low` to `high`, or without an upper bound.
void AppendNaturals(uint64_t low, uint64_t high, const std::string& sign,
                    std::vector<std::string>* choices) {
  std::string from = std::to_string(low);
  if (high == kNoEnd) {
    AppendSameLength(from, std::string(from.size(), '9'), sign, choices);
    const std::string first = sign.empty() ? "[1-9]" : sign + " [1-9]";
    choices->push_back(first + " [0-9]" + GbnfTimes(from.size(), 17));
    return;
  }
  const std::string to = std::to_string(high);
  while (from.size() < to.size()) {
    AppendSameLength(from, std::string(from.size(), '9'), sign, choices);
    from = "1" + std::string(from.size(), '0');
  }
  AppendSameLength(from, to, sign, choices);
}

// Integers as JSON Schema means them: 2.0 is one, and so is 1.5e3. But clients' parsers tell 2.0
// from 2, so only the model itself comes to such a form.
std::string IntegerRule() {
  std::string rule = R"("-"? ("0" | [1-9] [0-9]{0,60}) (~"." "0"{1,20})? (~[eE] "+"? [0-9]{1,2})?)";
  for (int digits = 1; digits <= 16; ++digits) {
    rule += R"( | "-"? [0-9] ~"." [0-9]{)" + std::to_string(digits) + R"(} [eE] "+"? )" +
            GbnfIntegers(digits, 99);
  }
  return rule;
}

// Returns the escape of one character as four digits of either case, without the backslash.
std::string UnitEscape(uint32_t unit) {
  std::string text = "\"u";
  std::string open;
  for (int shift = 12; shift >= 0; shift -= 4) {
    const char digit = "0123456789abcdef"[unit >> shift & 15];
    if (digit <= '9') {
      text += (open.empty() ? "" : " \"") + std::string(1, digit);
      open.clear();
    } else {
      if (open.empty()) text += "\"";
      text += std::string(" [") + digit + static_cast<char>(digit - 'a' + 'A') + "]";
      open = "closed";
    }
  }
  return open.empty() ? text + "\"" : text;
}

// Returns the definition of JsonCharacterRule().
std::string CharacterChoices(uint32_t c) {
  std::string escapes;
  constexpr std::string_view kControls = "\b\f\n\r\t";
  const size_t control = c < 0x80 ? kControls.find(static_cast<char>(c)) : std::string::npos;
  if (control != std::string::npos) escapes = GbnfLiteral(std::string(1, "bfnrt"[control])) + " | ";
  if (c == '"' || c == '\\' || c == '/') {
    escapes = GbnfLiteral(std::string(1, static_cast<char>(c))) + " | ";
  }
  if (c >= 0x10000) {
    const uint32_t rest = c - 0x10000;
    escapes +=
        UnitEscape(0xD800 + (rest >> 10)) + " \"\\\\\" " + UnitEscape(0xDC00 + (rest & 0x3FF));
  } else {
    escapes += UnitEscape(c);
  }
  const std::string all = R"("\\" ()" + escapes + ")";
  if (c < 0x20 || c == '"' || c == '\\') return all;
  std::string raw;
  AppendUtf8(c, &raw);
  return GbnfLiteral(raw) + " | ~" + all;
}

// Calls `name(text, defines)` for the names in rules: those that are defined, and those used.
template <typename Name>
void ForNames(std::string_view rules, Name name) {
  for (size_t at = 0; at < rules.size();) {
    const char open = rules[at];
    if (open == '"' || open == '[' || open == '{') {
      const char close = open == '"' ? '"' : open == '[' ? ']' : '}';
      for (++at; at < rules.size() && rules[at] != close; ++at) {
        if (rules[at] == '\\') ++at;
      }
      ++at;
    } else if (IsRuleNameChar(open)) {
      const size_t begin = at;
      while (at < rules.size() && IsRuleNameChar(rules[at])) ++at;
      name(rules.substr(begin, at - begin), rules.substr(at, 5) == " ::= ");
    } else {
      ++at;
    }
  }
}

// Returns the character of a name that JsonCharacterRule() gives.
std::optional<uint32_t> CharacterOf(std::string_view name) {
  if (name.size() < 2 || name.size() > 7 || name[0] != 'x') return std::nullopt;
  uint32_t value = 0;
  const auto [end, error] = std::from_chars(name.data() + 1, name.data() + name.size(), value, 16);
  if (error != std::errc() || end != name.data() + name.size()) return std::nullopt;
  return value;
}

}  // namespace

std::string GbnfLiteral(std::string_view text) {
  std::string literal = "\"";
  for (const char c : text) {
    // These have another meaning only in a class.
    if (c == '-' || c == '^' || c == '[' || c == ']') {
      literal += c;
    } else {
      AppendEscaped(c, &literal);
    }
  }
  return literal + "\"";
}

std::string GbnfTimes(size_t least, std::optional<size_t> most) {
  if (!most && least <= 1) return least == 0 ? "*" : "+";
  if (least == 0 && most == size_t{1}) return "?";
  if (most == least) return "{" + std::to_string(least) + "}";
  return "{" + std::to_string(least) + "," + (most ? std::to_string(*most) : "") + "}";
}

std::string GbnfIntegers(std::optional<int64_t> least, std::optional<int64_t> most) {
  std::vector<std::string> choices;
  const auto magnitude = [](int64_t value) { return uint64_t{0} - static_cast<uint64_t>(value); };
  if (!least || *least < 0) {
    const uint64_t nearest = most && *most < 0 ? magnitude(*most) : 1;
    const uint64_t farthest = least ? magnitude(*least) : kNoEnd;
    AppendNaturals(nearest, farthest, "\"-\"", &choices);
  }
  if (!most || *most >= 0) {
    const uint64_t from = least && *least > 0 ? static_cast<uint64_t>(*least) : 0;
    const uint64_t to = most ? static_cast<uint64_t>(*most) : kNoEnd;
    AppendNaturals(from, to, "", &choices);
  }
  std::string all;
  for (const std::string& choice : choices) all += (all.empty() ? "" : " | ") + choice;
  return "(" + all + ")";
}

std::string JsonCharacterRule(uint32_t character) {
  constexpr std::string_view kHex = "0123456789abcdef";
  std::string name;
  for (uint32_t rest = character; name.empty() || rest > 0; rest >>= 4) name += kHex[rest & 15];
  return "x" + std::string(name.rbegin(), name.rend());
}

const std::map<std::string, std::string, std::less<>>& JsonRules() {
  // White space as JSON printers write it: a space after ':' and ',', or a newline with an indent.
  // With more freedom a model could fill its answer with white space.
  static const std::map<std::string, std::string, std::less<>> rules = {
      {"array", R"("[" ws (value ("," ws value)* ws)? "]")"},
      {"boolean", R"("true" | "false")"},
      // Half of a surrogate pair is not a character.
      {"char", R"(plain | "\\" ([bfnrt] | "u" ([0-9a-cA-CefEF] [0-9a-fA-F]{3} | )"
               R"([dD] ([0-7] [0-9a-fA-F]{2} | )"
               R"([89abAB] [0-9a-fA-F]{2} "\\u" [dD] [c-fC-F] [0-9a-fA-F]{2}))))"},
      {"integer", IntegerRule()},
      {"member", R"(string ":" sp value)"},
      {"null", R"("null")"},
      // None is beyond a double's largest, which parsers refuse.
      {"number", R"("-"? ("0" | [1-9] [0-9]{0,60}) ("." [0-9]{1,60})? (~[eE] )"
                 R"(("-" [0-9]{1,3} | "+"? ([0-9]{1,2} | [01] [0-9]{2} | "2" [0-3] [0-9])))? | )"
                 R"("-"? [0-9] ("." [0-9]{1,60})? ~[eE] "+"? ("2" [4-9] [0-9] | "30" [0-7]))"},
      {"object", R"("{" ws (member ("," ws member)* ws)? "}")"},
      {"plain", R"([^"\\\x00-\x1F] | "\\" ["\\/])"},
      {"sp", R"(" "?)"},
      {"string", R"("\"" char* "\"")"},
      {"value", "object | array | string | number | boolean | null"},
      {"ws", R"(| " " | ~"\n" [ \t]{0,20})"},
  };
  return rules;
}

std::string WithJsonRules(std::string rules) {
  std::set<std::string, std::less<>> there;
  std::vector<std::string> wanted;
  const auto note = [&](std::string_view text) {
    ForNames(text, [&](std::string_view name, bool defines) {
      if (there.contains(name)) return;
      const bool known = JsonRules().contains(name) || CharacterOf(name);
      if (defines) there.emplace(name);
      if (!defines && known) wanted.emplace_back(name);
    });
  };
  note(rules);
  while (!wanted.empty()) {
    const std::string name = std::move(wanted.back());
    wanted.pop_back();
    if (!there.insert(name).second) continue;
    const auto rule = JsonRules().find(name);
    const std::string text =
        rule != JsonRules().end() ? rule->second : CharacterChoices(*CharacterOf(name));
    rules += name + " ::= " + text + "\n";
    note(text);
  }
  return rules;
}

std::string GbnfWithoutTags(std::string rules) {
  struct Change {
    std::string_view from;
    std::string_view to;
  };
  // In classes of patterns '<', and in names and listed values '|', is escaped.
  constexpr std::array<Change, 5> kChanges = {
      Change{R"(plain ::= [^"\\\x00-\x1F])",
             R"(plain ::= [^"\\<\x00-\x1F] | "<" [^"\\<|\x00-\x1F])"},
      Change{R"( | "<" | "\\" )", R"( | "\\" )"}, Change{R"( | "<" | ~"\\" )", R"( | ~"\\" )"},
      Change{R"( | ~"<" | ~"\\" )", R"( | ~"\\" )"}, Change{R"(x7c ::= "|" | )", "x7c ::= "}};
  for (const Change& change : kChanges) {
    for (size_t at = rules.find(change.from); at != std::string::npos;
         at = rules.find(change.from, at + change.to.size())) {
      rules.replace(at, change.from.size(), change.to);
    }
  }
  return rules;
}

}  // namespace cairn
