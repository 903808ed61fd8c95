// Parses GBNF into a Grammar.

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

#include "engine/grammar/grammar.h"
#include "engine/grammar/grammar_states.h"

namespace cairn {
namespace {

constexpr uint32_t kNoLimit = std::numeric_limits<uint32_t>::max();

bool IsDigit(char c) {
  return c >= '0' && c <= '9';
}

bool IsNameChar(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-' || IsDigit(c);
}

int HexValue(char c) {
  if (IsDigit(c)) return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

}  // namespace

// GrammarParser: parses the text in one pass. After the first error `error_` is set and parsing
// stops.
class GrammarParser {
 public:
  explicit GrammarParser(std::string_view text) : text_(text), grammar_(new Grammar) {}

  Result<std::shared_ptr<const Grammar>> Parse(std::string_view root) {
    SkipSpace(true);
    while (!failed() && at_ < text_.size()) ParseRule();
    if (!failed()) CheckRules(root);
    if (failed()) return Fail(ErrorCode::kInvalidArgument, *error_);
    return std::shared_ptr<const Grammar>(std::move(grammar_));
  }

 private:
  using Element = Grammar::Element;
  using Elements = std::vector<Element>;

  bool failed() const { return error_.has_value(); }
  char peek(size_t ahead = 0) const {
    return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0';
  }
  bool Take(std::string_view text) {
    if (text_.substr(at_, text.size()) != text) return false;
    at_ += text.size();
    return true;
  }
  void Mistake(const std::string& what) {
    if (failed()) return;
    // The position is after the offending character.
    const std::string_view read = text_.substr(0, at_);
    const auto line = 1 + std::count(read.begin(), read.end(), '\n');
    error_ = "the grammar, line " + std::to_string(line) + ": " + what;
    at_ = text_.size();
  }

  void SkipSpace(bool lines) {
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (c == '#') {
        at_ = std::min(text_.find_first_of("\r\n", at_), text_.size());
      } else if (c == ' ' || c == '\t' || (lines && (c == '\r' || c == '\n'))) {
        ++at_;
      } else {
        return;
      }
    }
  }

  std::string_view TakeName() {
    const size_t begin = at_;
    while (IsNameChar(peek())) ++at_;
    return text_.substr(begin, at_ - begin);
  }

  uint32_t NewRule() {
    grammar_->rules_.emplace_back();
    return static_cast<uint32_t>(grammar_->rules_.size() - 1);
  }

  uint32_t RuleNamed(std::string_view name) {
    const auto known = names_.find(name);
    if (known != names_.end()) return known->second;
    return names_.emplace(name, NewRule()).first->second;
  }

  void AddAlternative(uint32_t rule, const Elements& alternative) {
    std::vector<Element>& all = grammar_->elements_;
    if (all.size() + alternative.size() >= Grammar::kElementsMax) {
      return Mistake("it is too large: repetitions and rules come to more than " +
                     std::to_string(Grammar::kElementsMax) + " elements");
    }
    grammar_->rules_[rule].alternatives.push_back(static_cast<uint32_t>(all.size()));
    all.insert(all.end(), alternative.begin(), alternative.end());
    all.emplace_back();
  }

  void ParseRule() {
    const std::string_view name = TakeName();
    if (name.empty()) return Mistake("the name of a rule was expected");
    const uint32_t rule = RuleNamed(name);
    if (!grammar_->rules_[rule].alternatives.empty()) {
      return Mistake("the rule '" + std::string(name) + "' is there twice");
    }
    SkipSpace(false);
    if (!Take("::=")) return Mistake("'::=' was expected after '" + std::string(name) + "'");
    SkipSpace(true);
    ParseAlternatives(rule, 0);
    if (failed()) return;
    if (at_ < text_.size() && peek() != '\n' && peek() != '\r') {
      return Mistake("a new line was expected, not '" + std::string(1, peek()) + "'");
    }
    SkipSpace(true);
  }

  void ParseAlternatives(uint32_t rule, size_t nesting) {
    if (nesting > Grammar::kNestingMax) {
      return Mistake("more than " + std::to_string(Grammar::kNestingMax) + " groups in each other");
    }
    do {
      SkipSpace(true);
      Elements alternative;
      ParseSequence(&alternative, nesting);
      if (failed()) return;
      AddAlternative(rule, alternative);
    } while (!failed() && Take("|"));
  }

  void ParseSequence(Elements* sequence, size_t nesting) {
    size_t item = 0;  // where the last item begins
    while (!failed() && at_ < text_.size()) {
      const char c = peek();
      if (c == '*' || c == '+' || c == '?' || c == '{') {
        ParseRepetition(sequence, item);
      } else {
        const size_t begin = sequence->size();
        if (!ParseItem(sequence, nesting)) return;
        item = begin;
      }
      SkipSpace(nesting > 0);
    }
  }

  // Returns false if there is no item here.
  bool ParseItem(Elements* sequence, size_t nesting) {
    const char c = peek();
    if (c == '"') {
      ParseLiteral(sequence);
    } else if (c == '[') {
      ParseClass(sequence);
    } else if (c == '.') {
      ++at_;
      AddClass({.negated = true}, sequence);
    } else if (c == '(') {
      ++at_;
      const uint32_t group = NewRule();
      ParseAlternatives(group, nesting + 1);
      if (!failed() && !Take(")")) Mistake("')' was expected");
      sequence->push_back({Element::Kind::kRule, group});
    } else if (IsNameChar(c)) {
      sequence->push_back({Element::Kind::kRule, RuleNamed(TakeName())});
    } else if (c == '~') {
      ParseOdd(sequence);
    } else if (c == '<' || c == '!') {
      Mistake("tokens in angle brackets are not supported");
    } else {
      return false;
    }
    return true;
  }

  void ParseOdd(Elements* sequence) {
    ++at_;
    const size_t begin = sequence->size();
    if (peek() == '"') {
      ParseLiteral(sequence);
    } else if (peek() == '[') {
      ParseClass(sequence);
    }
    if (failed()) return;
    if (sequence->size() == begin) return Mistake("a literal or a class was expected after '~'");
    for (size_t i = begin; i < sequence->size(); ++i) {
      grammar_->classes_[(*sequence)[i].index].odd = true;
    }
    grammar_->has_odd_ = true;
  }

  void AddClass(Grammar::CharClass char_class, Elements* sequence) {
    std::vector<Grammar::Range>& ranges = char_class.ranges;
    std::sort(ranges.begin(), ranges.end(),
              [](const auto& a, const auto& b) { return a.low < b.low; });
    // Merges adjacent ranges.
    size_t kept = 0;
    for (const Grammar::Range& range : ranges) {
      if (kept > 0 && range.low <= uint64_t{ranges[kept - 1].high} + 1) {
        ranges[kept - 1].high = std::max(ranges[kept - 1].high, range.high);
      } else {
        ranges[kept++] = range;
      }
    }
    ranges.resize(kept);
    grammar_->classes_.push_back(std::move(char_class));
    sequence->push_back(
        {Element::Kind::kClass, static_cast<uint32_t>(grammar_->classes_.size() - 1)});
  }

  void ParseLiteral(Elements* sequence) {
    ++at_;
    while (!failed() && peek() != '"') {
      if (at_ >= text_.size()) return Mistake("a literal is not closed");
      const uint32_t character = ParseCharacter();
      AddClass({.ranges = {{character, character}}}, sequence);
    }
    ++at_;
  }

  void ParseClass(Elements* sequence) {
    ++at_;
    Grammar::CharClass char_class;
    char_class.negated = Take("^");
    while (!failed() && peek() != ']') {
      if (at_ >= text_.size()) return Mistake("a class is not closed");
      const uint32_t low = ParseCharacter();
      uint32_t high = low;
      if (peek() == '-' && peek(1) != ']') {
        ++at_;
        high = ParseCharacter();
      }
      if (high < low) return Mistake("a range in a class ends before it begins");
      char_class.ranges.push_back({low, high});
    }
    ++at_;
    AddClass(std::move(char_class), sequence);
  }

  uint32_t ParseHex(size_t digits) {
    uint32_t value = 0;
    for (size_t i = 0; i < digits; ++i) {
      const int digit = HexValue(peek());
      if (digit < 0) {
        Mistake(std::to_string(digits) + " hexadecimal digits were expected");
        return 0;
      }
      value = value << 4 | static_cast<uint32_t>(digit);
      ++at_;
    }
    return value;
  }

  uint32_t ParseEscape() {
    const char c = peek();
    ++at_;
    switch (c) {
      case 'x':
        return ParseHex(2);
      case 'u':
        return ParseHex(4);
      case 'U':
        return ParseHex(8);
      case 't':
        return '\t';
      case 'r':
        return '\r';
      case 'n':
        return '\n';
      default:
        break;
    }
    if (std::string_view("\\\"[]-").find(c) == std::string_view::npos || c == '\0') {
      Mistake("an unknown escape");
    }
    return static_cast<uint8_t>(c);
  }

  // Parses one character, which may be an escape sequence.
  uint32_t ParseCharacter() {
    if (Take("\\")) return ParseEscape();
    const auto first = static_cast<uint8_t>(peek());
    ++at_;
    if (first < 0x80) return first;
    const size_t more = first >= 0xF0 ? 3 : first >= 0xE0 ? 2 : 1;
    uint32_t value = first & (0x3FU >> more);
    for (size_t i = 0; i < more; ++i) {
      const auto next = static_cast<uint8_t>(peek());
      if (next >> 6 != 2) {
        Mistake("it is not UTF-8");
        return 0;
      }
      value = value << 6 | (next & 0x3FU);
      ++at_;
    }
    return value;
  }

  std::optional<uint32_t> ParseCount() {
    const size_t begin = at_;
    uint64_t value = 0;
    while (IsDigit(peek())) {
      value = std::min<uint64_t>(value * 10 + static_cast<uint64_t>(peek() - '0'),
                                 Grammar::kElementsMax);
      ++at_;
    }
    if (at_ == begin) return std::nullopt;
    return static_cast<uint32_t>(value);
  }

  void ParseRepetition(Elements* sequence, size_t item) {
    if (item == sequence->size()) return Mistake("there is nothing to repeat");
    uint32_t least = 0;
    uint32_t most = kNoLimit;
    if (Take("+")) {
      least = 1;
    } else if (Take("?")) {
      most = 1;
    } else if (!Take("*")) {
      ++at_;
      const auto from = ParseCount();
      if (!from) return Mistake("a number was expected after '{'");
      least = most = *from;
      if (Take(",")) most = ParseCount().value_or(kNoLimit);
      if (!Take("}")) return Mistake("'}' was expected");
    }
    if (most < least) return Mistake("a repetition has a most below its least");
    Repeat(least, most, sequence, item);
  }

  // S{2,4} becomes S S (S (S)?)?, and S* becomes R with R ::= S R | nothing.
  void Repeat(uint32_t least, uint32_t most, Elements* sequence, size_t item) {
    const auto begin = sequence->begin() + static_cast<ptrdiff_t>(item);
    const Element repeated = AsOne(Elements(begin, sequence->end()));
    sequence->resize(item);
    if (sequence->size() + least > Grammar::kElementsMax) return Mistake("it repeats too often");
    sequence->insert(sequence->end(), least, repeated);
    if (most == kNoLimit) {
      const Element loop = {Element::Kind::kRule, NewRule()};
      AddAlternative(loop.index, {repeated, loop});
      AddAlternative(loop.index, {});
      sequence->push_back(loop);
      return;
    }
    std::optional<Element> rest;
    for (uint32_t i = least; i < most && !failed(); ++i) {
      const Element option = {Element::Kind::kRule, NewRule()};
      AddAlternative(option.index, rest ? Elements{repeated, *rest} : Elements{repeated});
      AddAlternative(option.index, {});
      rest = option;
    }
    if (rest) sequence->push_back(*rest);
  }

  Element AsOne(const Elements& elements) {
    if (elements.size() == 1) return elements.front();
    const Element rule = {Element::Kind::kRule, NewRule()};
    AddAlternative(rule.index, elements);
    return rule;
  }

  void CheckRules(std::string_view root) {
    const auto known = names_.find(root);
    if (known == names_.end()) return Mistake("it has no rule '" + std::string(root) + "'");
    grammar_->root_ = known->second;
    for (const auto& [name, rule] : names_) {
      if (grammar_->rules_[rule].alternatives.empty()) {
        return Mistake("the rule '" + name + "' is used and not there");
      }
    }
    // The matcher rejects rules that would never end, so every rule is tried beforehand.
    auto states = std::make_unique<GrammarStates>(grammar_);
    size_t steps = 0;
    for (const auto& [name, rule] : names_) {
      if (states->is_full()) states = std::make_unique<GrammarStates>(grammar_);
      if (states->CloseRule(rule, &steps) != GrammarStates::kNone) continue;
      if (steps > GrammarStates::kStepsMax) {
        return Mistake("it takes more than " + std::to_string(GrammarStates::kStepsMax) +
                       " steps to see how its rules begin; make it smaller");
      }
      return Mistake("the rule '" + name + "' begins with itself, or can begin in too many ways");
    }
  }

  const std::string_view text_;
  size_t at_ = 0;
  std::shared_ptr<Grammar> grammar_;
  std::map<std::string, uint32_t, std::less<>> names_;
  std::optional<std::string> error_;
};

Result<std::shared_ptr<const Grammar>> Grammar::Parse(std::string_view text,
                                                      std::string_view root) {
  if (text.size() > kTextBytesMax) {
    return Fail(ErrorCode::kInvalidArgument, "the grammar has " + std::to_string(text.size()) +
                                                 " bytes; it may have " +
                                                 std::to_string(kTextBytesMax));
  }
  return GrammarParser(text).Parse(root);
}

}  // namespace cairn
