#include "api/grammar/pattern/regex.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "api/grammar/pattern/code_points.h"
#include "api/grammar/pattern/regex_classes.h"
#include "api/grammar/pattern/regex_nodes.h"

namespace cairn {
namespace {

constexpr size_t kRegexNodesMax = 20000;
constexpr size_t kRangesMax = 200000;
constexpr size_t kNestingMax = 60;
constexpr size_t kPatternBytesMax = 100000;
constexpr size_t kEndless = SIZE_MAX;  // repetitions without a limit

// Reads a pattern into nodes. `failed` once it has what no automaton holds.
class RegexReader {
 public:
  explicit RegexReader(std::u32string pattern) : text_(std::move(pattern)) {}

  std::optional<NodeSpan> Read() {
    const NodeSpan all = Alternatives(0);
    if (failed_ || at_ < text_.size()) return std::nullopt;
    return all;
  }
  const RegexNodes& read() const { return read_; }

 private:
  char32_t peek(size_t ahead = 0) const {
    return at_ + ahead < text_.size() ? text_[at_ + ahead] : U'\0';
  }
  bool done() const { return failed_ || at_ >= text_.size(); }
  bool Take(std::u32string_view wanted) {
    if (std::u32string_view(text_).substr(at_, wanted.size()) != wanted) return false;
    at_ += wanted.size();
    return true;
  }

  uint32_t Add(RegexNode node) {
    ranges_ += node.takes.ranges().size();
    if (read_.nodes.size() >= kRegexNodesMax || ranges_ > kRangesMax) {
      failed_ = true;
      return 0;
    }
    read_.nodes.push_back(std::move(node));
    return static_cast<uint32_t>(read_.nodes.size() - 1);
  }
  NodeSpan Empty() {
    const uint32_t node = Add({});
    return {node, node};
  }
  NodeSpan Single(RegexNode::Kind kind, CodePoints takes) {
    const uint32_t end = Add({});
    return {Add({kind, std::move(takes), end, kNoNode}), end};
  }
  void Link(uint32_t from, uint32_t to) {
    if (!failed_) read_.nodes[from].to = to;
  }
  NodeSpan Then(const NodeSpan& first, const NodeSpan& second) {
    Link(first.end, second.begin);
    return {first.begin, second.end};
  }
  NodeSpan Either(const NodeSpan& first, const NodeSpan& second) {
    const uint32_t end = Add({});
    Link(first.end, end);
    Link(second.end, end);
    return {Add({RegexNode::Kind::kFree, {}, first.begin, second.begin}), end};
  }

  NodeSpan Alternatives(size_t nesting) {
    if (nesting > kNestingMax) failed_ = true;
    NodeSpan all = Sequence(nesting);
    while (!done() && peek() == '|') {
      ++at_;
      all = Either(all, Sequence(nesting));
    }
    return all;
  }

  NodeSpan Sequence(size_t nesting) {
    NodeSpan all = Empty();
    while (!done() && peek() != '|' && peek() != ')') {
      const size_t begin = at_;
      const NodeSpan item = Item(nesting);
      if (failed_) break;
      all = Then(all, Repeated(item, begin, nesting));
    }
    return all;
  }

  NodeSpan Item(size_t nesting) {
    const char32_t c = peek();
    ++at_;
    switch (c) {
      case '(':
        return Group(nesting);
      case '[':
        return Single(RegexNode::Kind::kTake, Class());
      case '.':
        return Single(RegexNode::Kind::kTake, AnyButLineEnds());
      case '^':
        return Single(RegexNode::Kind::kBegin, {});
      case '$':
        return Single(RegexNode::Kind::kEnd, {});
      case '\\':
        return Escape();
      case '*':
      case '+':
      case '?':
        failed_ = true;
        return {};
      default:
        return Single(RegexNode::Kind::kTake, CodePoints::One(c));
    }
  }

  NodeSpan LookAhead(size_t nesting) {
    const bool negated = peek(1) == '!';
    at_ += 2;
    const NodeSpan part = Alternatives(nesting + 1);
    // A repetition of it would say nothing.
    if (!Take(U")") || peek() == '*' || peek() == '+' || peek() == '?') failed_ = true;
    const NodeSpan look = Single(RegexNode::Kind::kLook, {});
    if (failed_) return look;
    read_.nodes[look.begin].other = static_cast<uint32_t>(read_.looks.size());
    read_.looks.push_back({part, negated});
    return look;
  }

  NodeSpan Group(size_t nesting) {
    if (peek() == '?' && (peek(1) == '=' || peek(1) == '!')) return LookAhead(nesting);
    if (peek() == '?') {
      const bool named = peek(1) == '<' && peek(2) != '=' && peek(2) != '!';
      if (named || (peek(1) == 'P' && peek(2) == '<')) {
        while (!done() && peek() != '>') ++at_;
        ++at_;
      } else if (!Take(U"?:")) {
        failed_ = true;
      }
    }
    const NodeSpan inside = Alternatives(nesting + 1);
    if (!Take(U")")) failed_ = true;
    return inside;
  }

  NodeSpan Escape() {
    const char32_t c = peek();
    if (c == 'A') return ++at_, Single(RegexNode::Kind::kBegin, {});
    if (c == 'Z' || c == 'z') return ++at_, Single(RegexNode::Kind::kEnd, {});
    if (c == 'b' || c == 'B' || (c >= '1' && c <= '9') || c == 'k') failed_ = true;
    return Single(RegexNode::Kind::kTake, EscapedClass());
  }

  // Reads what follows a backslash, as a class.
  CodePoints EscapedClass() {
    if (done()) failed_ = true;
    if (failed_) return {};
    const char32_t c = peek();
    ++at_;
    if (c < 0x80) {
      if (const auto known = ClassOfLetter(static_cast<char>(c))) return *known;
    }
    if (c == 'p' || c == 'P') return Property(c == 'P');
    constexpr std::u32string_view kNames = U"tnvfr";
    constexpr std::u32string_view kValues = U"\t\n\v\f\r";
    if (const size_t known = kNames.find(c); known != kNames.npos) {
      return CodePoints::One(kValues[known]);
    }
    if (c == '0') return CodePoints::One(0);
    if (c == 'x') return CodePoints::One(Hex(2));
    if (c == 'u') return CodePoints::One(Unicode());
    if (c == 'c') {
      const char32_t letter = peek();
      ++at_;
      return CodePoints::One(letter % 32);
    }
    const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '1' && c <= '9');
    if (letter) failed_ = true;
    return CodePoints::One(c);
  }

  CodePoints Property(bool negated) {
    std::string name;
    if (Take(U"{")) {
      while (!done() && peek() != '}') name += static_cast<char>(peek()), ++at_;
      if (!Take(U"}")) failed_ = true;
    } else {
      name = static_cast<char>(peek());
      ++at_;
    }
    for (const std::string_view front : {"General_Category=", "gc=", "Is"}) {
      if (name.starts_with(front)) name.erase(0, front.size());
    }
    static const std::map<std::string, std::string, std::less<>> kLong = {
        {"Letter", "L"},
        {"Alphabetic", "L"},
        {"Uppercase_Letter", "Lu"},
        {"Lowercase_Letter", "Ll"},
        {"Number", "N"},
        {"Decimal_Number", "Nd"},
        {"digit", "Nd"},
        {"Punctuation", "P"},
        {"Symbol", "S"},
        {"Separator", "Z"},
        {"Mark", "M"},
        {"Letters", "L"}};
    const auto known = kLong.find(name);
    const auto held = ClassOfCategory(known == kLong.end() ? name : known->second);
    if (!held) failed_ = true;
    if (failed_) return {};
    return negated ? held->Not() : *held;
  }

  uint32_t Hex(size_t digits) {
    uint32_t value = 0;
    for (size_t i = 0; i < digits; ++i, ++at_) {
      const char32_t c = peek();
      const bool digit = c >= '0' && c <= '9';
      const bool letter = (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
      if (!digit && !letter) failed_ = true;
      value = value * 16 + (digit ? c - '0' : (c | 0x20U) - 'a' + 10) % 16;
    }
    return value;
  }

  uint32_t Unicode() {
    if (Take(U"{")) {
      size_t digits = 0;
      while (digits < 7 && peek(digits) != '}') ++digits;
      const uint32_t value = Hex(std::min<size_t>(digits, 6));
      if (!Take(U"}") || value > kCodePointMax) failed_ = true;
      return std::min(value, kCodePointMax);
    }
    const uint32_t value = Hex(4);
    const bool pair = value >= 0xD800 && value < 0xDC00 && peek() == '\\' && peek(1) == 'u';
    if (!pair) return value;
    at_ += 2;
    return 0x10000 + ((value - 0xD800) << 10) + (Hex(4) & 0x3FFU);
  }

  CodePoints Class() {
    const bool negated = Take(U"^");
    CodePoints held;
    while (!done() && peek() != ']') {
      const CodePoints first = ClassItem();
      const bool range = peek() == '-' && peek(1) != ']' && first.Single();
      if (!range) {
        held = held.Or(first);
        continue;
      }
      ++at_;
      const CodePoints last = ClassItem();
      if (!last.Single()) {  // a class: the '-' means itself
        held = held.Or(first).Or(last).Or(CodePoints::One('-'));
        continue;
      }
      if (*last.Single() < *first.Single()) failed_ = true;
      held = held.Or(CodePoints({{*first.Single(), *last.Single()}}));
    }
    if (!Take(U"]")) failed_ = true;
    return negated ? held.Not() : held;
  }

  CodePoints ClassItem() {
    const char32_t c = peek();
    ++at_;
    if (c == '[' && (peek() == ':' || peek() == '.' || peek() == '=')) failed_ = true;
    if (c != '\\') return CodePoints::One(c);
    if (Take(U"b")) return CodePoints::One('\b');
    return EscapedClass();
  }

  // Applies what repeats the item that begins at `begin`.
  NodeSpan Repeated(NodeSpan item, size_t begin, size_t nesting) {
    size_t least = 1;
    size_t most = 1;
    if (Take(U"*")) {
      least = 0;
      most = kEndless;
    } else if (Take(U"+")) {
      most = kEndless;
    } else if (Take(U"?")) {
      least = 0;
    } else if (peek() == '{' && !ReadTimes(&least, &most)) {
      return item;  // the brace means itself
    }
    if (least == 1 && most == 1) return item;
    Take(U"?");  // it takes the least; the language is the same
    const size_t behind = at_;
    if (peek() == '*' || peek() == '+' || peek() == '?') failed_ = true;
    if (failed_) return item;
    // Each time is read anew.
    const auto again = [&] {
      at_ = begin;
      const NodeSpan part = Item(nesting);
      at_ = behind;
      return part;
    };
    if (most != kEndless && (most < least || most > kRegexNodesMax)) failed_ = true;
    if (least > kRegexNodesMax) failed_ = true;
    NodeSpan all = Empty();
    bool fresh = true;
    const auto next = [&] { return std::exchange(fresh, false) ? item : again(); };
    for (size_t i = 0; i < least && !failed_; ++i) all = Then(all, next());
    if (most == kEndless) {
      const NodeSpan loop = next();
      const uint32_t end = Add({});
      const uint32_t choice = Add({RegexNode::Kind::kFree, {}, loop.begin, end});
      Link(loop.end, choice);
      return Then(all, {choice, end});
    }
    std::vector<uint32_t> skips;
    for (size_t i = least; i < most && !failed_; ++i) {
      const NodeSpan part = next();
      const uint32_t choice = Add({RegexNode::Kind::kFree, {}, part.begin, kNoNode});
      skips.push_back(choice);
      all = Then(all, {choice, part.end});
    }
    const NodeSpan end = Empty();
    for (const uint32_t skip : skips) {
      if (!failed_) read_.nodes[skip].other = end.begin;
    }
    return Then(all, end);
  }

  // Returns false for what is no repetition. `most`: may be kEndless.
  bool ReadTimes(size_t* least, size_t* most) {
    const size_t begin = at_;
    const auto number = [&]() -> std::optional<size_t> {
      const size_t from = at_;
      size_t value = 0;
      while (peek() >= '0' && peek() <= '9') {
        value = std::min<size_t>(value * 10 + (peek() - '0'), kRegexNodesMax + 1);
        ++at_;
      }
      return at_ == from ? std::nullopt : std::optional<size_t>(value);
    };
    ++at_;
    const auto from = number();
    std::optional<size_t> to = from;
    if (Take(U",")) to = number();
    if (!from || !Take(U"}")) {
      at_ = begin;
      return false;
    }
    *least = *from;
    *most = to.value_or(kEndless);
    return true;
  }

  std::u32string text_;
  size_t at_ = 0;
  bool failed_ = false;
  RegexNodes read_;
  size_t ranges_ = 0;  // of all nodes
};

}  // namespace

std::optional<Dfa> DfaOfPattern(std::string_view pattern, WorkBudget* budget) {
  if (pattern.size() > kPatternBytesMax) return std::nullopt;
  RegexReader reader(CodePointsOf(pattern));
  const auto part = reader.Read();
  if (!part) return std::nullopt;
  return DfaOfNodes(reader.read(), *part, budget);
}

}  // namespace cairn
