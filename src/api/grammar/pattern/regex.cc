#include "api/grammar/pattern/regex.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "api/grammar/pattern/code_points.h"
#include "api/grammar/pattern/regex_classes.h"

namespace cairn {
namespace {

constexpr size_t kRegexNodesMax = 20000;
constexpr size_t kRangesMax = 200000;
constexpr size_t kNestingMax = 60;
constexpr size_t kPatternBytesMax = 100000;
constexpr uint32_t kNone = ~uint32_t{0};

// A non-deterministic automaton. A node takes a character, or is at the begin or end of the text,
// or leads on freely.
struct Node {
  enum class Kind : uint8_t { kTake, kBegin, kEnd, kFree };
  Kind kind = Kind::kFree;
  CodePoints takes = {};
  uint32_t to = kNone;
  uint32_t other = kNone;  // of kFree
};

struct NodeSpan {
  uint32_t begin = 0;
  uint32_t end = 0;  // a kFree node that leads nowhere yet
};

constexpr size_t kEndless = SIZE_MAX;  // repetitions without a limit

// Reads a pattern into nodes. `failed` once it has what no automaton holds.
class RegexReader {
 public:
  explicit RegexReader(std::u32string pattern) : text_(std::move(pattern)) {}

  // A look-ahead at the begin of the text: all of it must fit, or must not.
  struct LookAhead {
    NodeSpan part;
    bool negated = false;
  };

  std::optional<NodeSpan> Read() {
    ReadLookAheads();
    const size_t begin = at_;
    // The look-aheads hold for one alternative only.
    const NodeSpan all = Alternatives(0);
    if (!look_aheads_.empty() && alternatives_ > 0 && begin > 0) failed_ = true;
    if (failed_ || at_ < text_.size()) return std::nullopt;
    return all;
  }
  const std::vector<Node>& nodes() const { return nodes_; }
  const std::vector<LookAhead>& look_aheads() const { return look_aheads_; }

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

  uint32_t Add(Node node) {
    ranges_ += node.takes.ranges().size();
    if (nodes_.size() >= kRegexNodesMax || ranges_ > kRangesMax) {
      failed_ = true;
      return 0;
    }
    nodes_.push_back(std::move(node));
    return static_cast<uint32_t>(nodes_.size() - 1);
  }
  NodeSpan Empty() {
    const uint32_t node = Add({});
    return {node, node};
  }
  NodeSpan Single(Node::Kind kind, CodePoints takes) {
    const uint32_t end = Add({});
    return {Add({kind, std::move(takes), end, kNone}), end};
  }
  void Link(uint32_t from, uint32_t to) {
    if (!failed_) nodes_[from].to = to;
  }
  NodeSpan Then(const NodeSpan& first, const NodeSpan& second) {
    Link(first.end, second.begin);
    return {first.begin, second.end};
  }
  NodeSpan Either(const NodeSpan& first, const NodeSpan& second) {
    const uint32_t end = Add({});
    Link(first.end, end);
    Link(second.end, end);
    return {Add({Node::Kind::kFree, {}, first.begin, second.begin}), end};
  }

  void ReadLookAheads() {
    if (peek() != '^') return;
    const size_t begin = at_;
    ++at_;
    while (peek() == '(' && peek(1) == '?' && (peek(2) == '!' || peek(2) == '=')) {
      const bool negated = peek(2) == '!';
      at_ += 3;
      look_aheads_.push_back({Alternatives(1), negated});
      if (!Take(U")")) failed_ = true;
    }
    alternatives_ = 0;
    if (look_aheads_.empty()) {
      at_ = begin;
    } else {
      at_ -= 1;  // the anchor is read again
      text_[at_] = '^';
    }
  }

  NodeSpan Alternatives(size_t nesting) {
    if (nesting > kNestingMax) failed_ = true;
    NodeSpan all = Sequence(nesting);
    while (!done() && peek() == '|') {
      ++at_;
      if (nesting == 0) ++alternatives_;
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
        return Single(Node::Kind::kTake, Class());
      case '.':
        return Single(Node::Kind::kTake, AnyButLineEnds());
      case '^':
        return Single(Node::Kind::kBegin, {});
      case '$':
        return Single(Node::Kind::kEnd, {});
      case '\\':
        return Escape();
      case '*':
      case '+':
      case '?':
        failed_ = true;
        return {};
      default:
        return Single(Node::Kind::kTake, CodePoints::One(c));
    }
  }

  NodeSpan Group(size_t nesting) {
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
    if (c == 'A') return ++at_, Single(Node::Kind::kBegin, {});
    if (c == 'Z' || c == 'z') return ++at_, Single(Node::Kind::kEnd, {});
    if (c == 'b' || c == 'B' || (c >= '1' && c <= '9') || c == 'k') failed_ = true;
    return Single(Node::Kind::kTake, EscapedClass());
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
      const uint32_t choice = Add({Node::Kind::kFree, {}, loop.begin, end});
      Link(loop.end, choice);
      return Then(all, {choice, end});
    }
    std::vector<uint32_t> skips;
    for (size_t i = least; i < most && !failed_; ++i) {
      const NodeSpan part = next();
      const uint32_t choice = Add({Node::Kind::kFree, {}, part.begin, kNone});
      skips.push_back(choice);
      all = Then(all, {choice, part.end});
    }
    const NodeSpan end = Empty();
    for (const uint32_t skip : skips) {
      if (!failed_) nodes_[skip].other = end.begin;
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
  size_t alternatives_ = 0;
  std::vector<Node> nodes_;
  size_t ranges_ = 0;  // of all nodes
  std::vector<LookAhead> look_aheads_;
};

// Makes the automaton of the texts that a part is found in.
class DfaMaker {
 public:
  DfaMaker(const std::vector<Node>& nodes, const NodeSpan& part, WorkBudget* budget)
      : nodes_(nodes), part_(part), budget_(budget) {}

  std::optional<Dfa> Make() {
    std::vector<Dfa::State> states;
    Number({part_.begin}, true);
    for (size_t i = 0; i < sets_.size(); ++i) {
      auto state = StateOf(i);
      if (!state || sets_.size() > Dfa::kStatesMax) return std::nullopt;
      states.push_back(*std::move(state));
    }
    return Dfa(std::move(states)).Minimised(budget_);
  }

 private:
  struct Set {
    std::vector<uint32_t> nodes;  // that take a character, or end the part
    bool first = false;           // nothing is read yet
    bool accepts = false;
    bool found = false;  // the part was found
  };

  // Follows what leads on freely. `at_end`: nothing follows.
  std::vector<uint32_t> Close(const std::vector<uint32_t>& from, bool at_begin, bool at_end) {
    std::vector<uint32_t> open = from;
    std::vector<bool> seen(nodes_.size());
    std::vector<uint32_t> closed;
    while (!open.empty()) {
      const uint32_t id = open.back();
      open.pop_back();
      if (id == kNone || seen[id]) continue;
      seen[id] = true;
      const Node& node = nodes_[id];
      const bool stays = node.kind == Node::Kind::kTake || node.kind == Node::Kind::kEnd ||
                         (node.kind == Node::Kind::kFree && id == part_.end);
      if (stays) closed.push_back(id);
      if (node.kind == Node::Kind::kFree) open.insert(open.end(), {node.to, node.other});
      if (node.kind == Node::Kind::kBegin && at_begin) open.push_back(node.to);
      if (node.kind == Node::Kind::kEnd && at_end) open.push_back(node.to);
    }
    budget_->Take(1 + nodes_.size() / 16 + closed.size());
    std::sort(closed.begin(), closed.end());
    return closed;
  }

  uint32_t Number(const std::vector<uint32_t>& from, bool first) {
    Set set;
    set.first = first;
    set.nodes = Close(from, first, false);
    const auto ended = [&](const std::vector<uint32_t>& nodes) {
      return std::binary_search(nodes.begin(), nodes.end(), part_.end);
    };
    // Once the part is found, whatever follows fits.
    set.found = ended(set.nodes);
    if (set.found) set.nodes = {part_.end};
    set.accepts = set.found || ended(Close(set.nodes, first, true));
    const auto [known, is_new] =
        numbers_.emplace(std::make_pair(set.nodes, first), static_cast<uint32_t>(sets_.size()));
    if (is_new) sets_.push_back(std::move(set));
    return known->second;
  }

  std::optional<Dfa::State> StateOf(size_t i) {
    const Set set = sets_[i];
    Dfa::State state{set.accepts, {}};
    if (set.found) {
      for (const CodeRange& range : CodePoints::All().ranges()) {
        state.edges.push_back({range.low, range.high, static_cast<uint32_t>(i)});
      }
      if (!set.first) return state;
    }
    // Where ranges of the nodes begin and end.
    std::vector<uint32_t> cuts = {0, 0xD800, 0xE000, kCodePointMax + 1};
    for (const uint32_t id : set.nodes) {
      for (const CodeRange& range : nodes_[id].takes.ranges()) {
        cuts.insert(cuts.end(), {range.low, range.high + 1});
      }
    }
    std::sort(cuts.begin(), cuts.end());
    cuts.erase(std::unique(cuts.begin(), cuts.end()), cuts.end());
    state.edges.clear();
    for (size_t cut = 0; cut + 1 < cuts.size(); ++cut) {
      const uint32_t low = cuts[cut];
      if (low == 0xD800) continue;
      if (!budget_->Take(1 + set.nodes.size())) return std::nullopt;
      std::vector<uint32_t> next = {part_.begin};
      if (set.found) next = {part_.end};
      for (const uint32_t id : set.nodes) {
        if (nodes_[id].kind == Node::Kind::kTake && nodes_[id].takes.Holds(low)) {
          next.push_back(nodes_[id].to);
        }
      }
      const uint32_t to = Number(next, false);
      const bool same =
          !state.edges.empty() && state.edges.back().to == to && state.edges.back().high + 1 == low;
      if (same) state.edges.back().high = cuts[cut + 1] - 1;
      if (!same) state.edges.push_back({low, cuts[cut + 1] - 1, to});
    }
    return state;
  }

  const std::vector<Node>& nodes_;
  const NodeSpan part_;
  WorkBudget* const budget_;
  std::vector<Set> sets_;
  std::map<std::pair<std::vector<uint32_t>, bool>, uint32_t> numbers_;
};

}  // namespace

std::optional<Dfa> DfaOfPattern(std::string_view pattern, WorkBudget* budget) {
  if (pattern.size() > kPatternBytesMax) return std::nullopt;
  RegexReader reader(CodePointsOf(pattern));
  const auto part = reader.Read();
  if (!part) return std::nullopt;
  auto all = DfaMaker(reader.nodes(), *part, budget).Make();
  // A look-ahead is found at the begin of the text: a Begin node in front of it anchors it.
  for (const auto& look : reader.look_aheads()) {
    if (!all) return std::nullopt;
    std::vector<Node> nodes = reader.nodes();
    nodes.push_back({Node::Kind::kBegin, {}, look.part.begin, kNone});
    const NodeSpan anchored = {static_cast<uint32_t>(nodes.size() - 1), look.part.end};
    const auto seen = DfaMaker(nodes, anchored, budget).Make();
    if (!seen) return std::nullopt;
    all = all->With(*seen, look.negated ? Dfa::Op::kMinus : Dfa::Op::kAnd, budget);
  }
  return all;
}

}  // namespace cairn
