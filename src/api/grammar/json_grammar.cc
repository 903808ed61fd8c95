#include "api/grammar/json_grammar.h"

#include <algorithm>
#include <cctype>
#include <limits>

namespace cairn {
namespace {

constexpr std::string_view kMetaCharacters = "^$.|?*+()[]{}\\/-";
constexpr size_t kPatternNestingMax = 30;

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

using Characters = std::vector<std::string>;

Characters CharactersOf(const std::string& text) {
  Characters characters;
  for (const char c : text) {
    const bool continues = static_cast<uint8_t>(c) >> 6 == 2 && !characters.empty();
    if (continues) characters.back() += c;
    if (!continues) characters.emplace_back(1, c);
  }
  return characters;
}

// Returns rules for the rest of a string that is none of `names`, after their common first `at`
// characters.
std::string OtherThan(const std::vector<const Characters*>& names, size_t at) {
  constexpr std::string_view kNever = R"(\"\\\x00-\x1F\x7F)";
  bool ends = false;
  std::map<std::string, std::vector<const Characters*>> next;
  for (const Characters* const name : names) {
    if (name->size() == at) ends = true;
    if (name->size() > at) next[(*name)[at]].push_back(name);
  }
  std::string taken;
  std::string choices;
  for (const auto& [character, rest] : next) {
    // Strings without escapes cannot contain these.
    const bool escaped = character == "\"" || character == "\\" ||
                         static_cast<uint8_t>(character[0]) < 0x20 || character == "\x7F";
    if (escaped) continue;
    if (character.size() == 1) AppendEscaped(character[0], &taken);
    if (character.size() > 1) taken += character;
    choices += GbnfLiteral(character) + " " + OtherThan(rest, at + 1) + " | ";
  }
  const std::string never(kNever);
  choices += "[^" + taken + never + "] [^" + never + "]*";
  return "(" + choices + ")" + (ends ? "" : "?");
}

// Parses a pattern and writes its rules to `out`.
class PatternReader {
 public:
  explicit PatternReader(std::string_view pattern) : pattern_(pattern) {}

  Result<std::string> Read() {
    const bool anchored = pattern_.size() >= 2 && pattern_.front() == '^' &&
                          pattern_.back() == '$' &&
                          (pattern_.size() < 3 || pattern_[pattern_.size() - 2] != '\\');
    if (!anchored) {
      return Fail(ErrorCode::kInvalidArgument, "a pattern that begins with '^' and ends with '$'");
    }
    pattern_ = pattern_.substr(1, pattern_.size() - 2);
    ReadAlternatives(0);
    if (error_.empty() && at_ < pattern_.size()) Refuse();
    if (!error_.empty()) return Fail(ErrorCode::kInvalidArgument, error_);
    return "(" + out_ + ")";
  }

 private:
  void Refuse() {
    if (error_.empty()) {
      error_ = "a simple pattern; what begins at character " + std::to_string(at_ + 2) +
               " is not supported";
    }
  }
  char peek() const { return at_ < pattern_.size() ? pattern_[at_] : '\0'; }
  bool done() const { return !error_.empty() || at_ >= pattern_.size(); }

  void ReadAlternatives(size_t nesting) {
    if (nesting > kPatternNestingMax) return Refuse();
    bool can_repeat = false;
    bool empty = true;
    while (!done() && peek() != ')') {
      const char c = peek();
      if (c == '|') {
        // Each alternative would be anchored at one end only.
        if (nesting == 0) return Refuse();
        if (empty) out_ += "\"\"";
        out_ += " | ";
        ++at_;
        can_repeat = false;
        empty = true;
        continue;
      }
      if (std::string_view("*+?{").find(c) != std::string_view::npos) {
        if (!can_repeat) return Refuse();
        ReadTimes();
        can_repeat = false;
      } else {
        ReadItem(nesting);
        can_repeat = true;
        empty = false;
      }
    }
    if (empty) out_ += "\"\"";
  }

  void ReadItem(size_t nesting) {
    const char c = peek();
    if (c == '(') {
      ++at_;
      if (peek() == '?') {
        if (pattern_.substr(at_, 2) != "?:") return Refuse();
        at_ += 2;
      }
      out_ += " (";
      ReadAlternatives(nesting + 1);
      if (peek() != ')') return Refuse();
      ++at_;
      out_ += ")";
    } else if (c == '[') {
      ReadClass();
    } else if (c == '.') {
      ++at_;
      out_ += " plain";
    } else if (c == '\\') {
      ReadEscape();
    } else if (c == '^' || c == '$' || c == ']' || c == '}' || static_cast<uint8_t>(c) < 0x20) {
      Refuse();
    } else {
      // The bytes of a character form a group, because a repetition would otherwise apply to the
      // last byte only.
      size_t end = at_ + 1;
      while (end < pattern_.size() && static_cast<uint8_t>(pattern_[end]) >> 6 == 2) ++end;
      AppendCharacters(pattern_.substr(at_, end - at_));
      at_ = end;
    }
  }

  // Characters as escaped in a JSON string.
  void AppendCharacters(std::string_view characters) {
    std::string text(characters);
    if (text == "\"" || text == "\\") text.insert(0, "\\");
    out_ += " " + (text.size() == 2 ? "(" + GbnfLiteral(text) + ")" : GbnfLiteral(text));
  }

  // Returns the content of the class for \d or \w; empty for other escapes.
  static std::string_view ClassOf(char c) {
    if (c == 'd') return "0-9";
    if (c == 'w') return "a-zA-Z0-9_";
    return "";
  }

  void ReadEscape() {
    const char c = at_ + 1 < pattern_.size() ? pattern_[at_ + 1] : '\0';
    const std::string_view known = ClassOf(c);
    if (!known.empty()) {
      out_ += " [" + std::string(known) + "]";
    } else if (c == 's') {
      out_ += " \" \"";
    } else if (c != '\0' && kMetaCharacters.find(c) != std::string_view::npos) {
      AppendCharacters(std::string_view(&c, 1));
    } else {
      return Refuse();
    }
    at_ += 2;
  }

  void ReadClass() {
    ++at_;
    std::string inside;
    const bool negated = peek() == '^';
    if (negated) ++at_;
    bool any = false;
    while (!done() && peek() != ']') {
      any = true;
      char c = peek();
      // A negated class would have to handle JSON's escapes, and so would these two.
      if (c == '[' || c == '"' || static_cast<uint8_t>(c) >= 0x80 ||
          static_cast<uint8_t>(c) < 0x20) {
        return Refuse();
      }
      if (c == '\\') {
        ++at_;
        c = peek();
        if (const std::string_view known = ClassOf(c); !known.empty()) {
          inside += known;
          ++at_;
          continue;
        }
        if (c == '\\' || c == '\0' || kMetaCharacters.find(c) == std::string_view::npos) {
          return Refuse();
        }
        AppendEscaped(c, &inside);
        ++at_;
        if (peek() == '-' && at_ + 1 < pattern_.size() && pattern_[at_ + 1] != ']') Refuse();
        continue;
      }
      ++at_;
      const bool range = peek() == '-' && at_ + 1 < pattern_.size() && pattern_[at_ + 1] != ']';
      if (!range) {
        AppendEscaped(c, &inside);
        continue;
      }
      const char high = pattern_[at_ + 1];
      const auto plain = [](char x) { return std::isalnum(static_cast<uint8_t>(x)) != 0; };
      if (!plain(c) || !plain(high) || high < c || (c <= '9') != (high <= '9') ||
          (c <= 'Z') != (high <= 'Z')) {
        return Refuse();
      }
      inside += std::string(1, c) + "-" + std::string(1, high);
      at_ += 2;
    }
    if (peek() != ']' || !any) return Refuse();
    ++at_;
    out_ += negated ? " [^" + inside + "\\\"\\\\\\x00-\\x1F\\x7F]" : " [" + inside + "]";
  }

  void ReadTimes() {
    const char c = peek();
    if (c != '{') {
      out_ += c;
      ++at_;
      return;
    }
    const size_t end = pattern_.find('}', at_);
    if (end == std::string_view::npos) return Refuse();
    const std::string_view inside = pattern_.substr(at_ + 1, end - at_ - 1);
    const bool plain = !inside.empty() && inside.front() != ',' && inside.size() < 12 &&
                       inside.find_first_not_of("0123456789,") == std::string_view::npos &&
                       std::count(inside.begin(), inside.end(), ',') < 2;
    if (!plain) return Refuse();
    out_ += "{" + std::string(inside) + "}";
    at_ = end + 1;
  }

  std::string_view pattern_;
  size_t at_ = 0;
  std::string out_;
  std::string error_;
};

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

std::optional<std::string> GbnfOfFormat(std::string_view format) {
  const std::string date =
      "[0-9]{4} \"-\" (\"0\" [1-9] | \"1\" [0-2]) \"-\" (\"0\" [1-9] | \"1\" [0-9] | \"2\" [0-8])";
  std::string time =
      "([01] [0-9] | \"2\" [0-3]) \":\" [0-5] [0-9] \":\" [0-5] [0-9] (\".\" [0-9]{1,9})? "
      "(\"Z\" | [+\\-] ([01] [0-9] | \"2\" [0-3]) \":\" [0-5] [0-9])";
  // February always has 28 days; days after the 28th are allowed in the months that have them.
  std::string full_date =
      "(" + date +
      " | [0-9]{4} \"-\" (\"01\" | \"0\" [3-9] | \"1\" [0-2]) \"-\" (\"29\" | \"30\")"
      " | [0-9]{4} \"-\" (\"01\" | \"03\" | \"05\" | \"07\" | \"08\" | \"10\" | \"12\") \"-31\")";
  if (format == "date") return full_date;
  if (format == "time") return time;
  if (format == "date-time") return full_date + " \"T\" " + time;
  if (format == "uuid") {
    const std::string hex = "[0-9a-fA-F]";
    return hex + "{8} \"-\" " + hex + "{4} \"-\" " + hex + "{4} \"-\" " + hex + "{4} \"-\" " + hex +
           "{12}";
  }
  return std::nullopt;
}

Result<std::string> GbnfOfPattern(std::string_view pattern) {
  return PatternReader(pattern).Read();
}

std::optional<std::string> GbnfOfOtherNames(const std::vector<std::string>& names) {
  constexpr size_t kBytesMax = 90;  // nested groups
  std::vector<Characters> all;
  for (const std::string& name : names) {
    if (name.size() > kBytesMax) return std::nullopt;
    all.push_back(CharactersOf(name));
  }
  std::vector<const Characters*> places;
  for (const Characters& name : all) places.push_back(&name);
  return OtherThan(places, 0);
}

const std::map<std::string, std::string, std::less<>>& JsonRules() {
  // White space as JSON printers write it: a space after ':' and ',', or a newline with an indent.
  // With more freedom a model could fill its answer with white space.
  static const std::map<std::string, std::string, std::less<>> rules = {
      {"array", R"("[" ws (value ("," ws value)* ws)? "]")"},
      {"boolean", R"("true" | "false")"},
      // Half of a surrogate pair is not a character.
      {"char",
       R"(plain | "\\" ([bfnrt] | "u" ([0-9a-cA-CefEF] [0-9a-fA-F] | [dD] [0-7]) [0-9a-fA-F]{2}))"},
      {"integer", R"("-"? ("0" | [1-9] [0-9]{0,17}))"},
      {"member", R"(string ":" sp value)"},
      {"null", R"("null")"},
      {"number", R"("-"? positive)"},
      {"object", R"("{" ws (member ("," ws member)* ws)? "}")"},
      {"plain", R"([^"\\\x00-\x1F\x7F] | "\\" ["\\/])"},
      {"positive", R"(("0" | [1-9] [0-9]{0,15}) ("." [0-9]{1,16})? ([eE] [+\-]? [0-9] [0-9]?)?)"},
      {"sp", R"(" "?)"},
      {"string", R"("\"" char* "\"")"},
      {"value", "object | array | string | number | boolean | null"},
      {"ws", R"(| " " | "\n" [ \t]{0,20})"},
  };
  return rules;
}

std::string JsonRulesText() {
  std::string text;
  for (const auto& [name, rule] : JsonRules()) text += name + " ::= " + rule + "\n";
  return text;
}

std::string GbnfWithoutTags(std::string rules) {
  constexpr std::string_view kPlain = R"(plain ::= [^"\\\x00-\x1F\x7F])";
  constexpr std::string_view kWithoutTags =
      R"(plain ::= [^"\\<\x00-\x1F\x7F] | "<" [^"\\<|\x00-\x1F\x7F])";
  for (size_t at = rules.find(kPlain); at != std::string::npos;
       at = rules.find(kPlain, at + kWithoutTags.size())) {
    rules.replace(at, kPlain.size(), kWithoutTags);
  }
  return rules;
}

}  // namespace cairn
