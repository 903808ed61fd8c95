#include "api/grammar/pattern/dfa.h"

#include <algorithm>
#include <map>
#include <unordered_map>
#include <utility>

#include "api/grammar/pattern/code_points.h"

namespace cairn {
namespace {

using Edge = Dfa::Edge;
using State = Dfa::State;

constexpr uint32_t kDead = ~uint32_t{0};
// The most rounds of making equal states one; a long chain takes as many as it has states.
constexpr size_t kRoundsMax = 64;

void AddAnyEdges(uint32_t to, std::vector<Edge>* edges) {
  for (const CodeRange& range : CodePoints::All().ranges()) {
    edges->push_back({range.low, range.high, to});
  }
}

// Appends an edge, or makes the last one longer.
void AppendEdge(uint32_t low, uint32_t high, uint32_t to, std::vector<Edge>* edges) {
  if (!edges->empty() && edges->back().to == to && edges->back().high + 1 == low) {
    edges->back().high = high;
  } else {
    edges->push_back({low, high, to});
  }
}

// Calls `pair(low, high, left, right)` for each range of characters on which both lists are
// constant and one of them has an edge; kDead where one has none.
template <typename Pair>
void WalkBoth(const std::vector<Edge>& left, const std::vector<Edge>& right, Pair pair) {
  size_t i = 0;
  size_t j = 0;
  uint64_t at = 0;
  while (i < left.size() || j < right.size()) {
    const uint64_t l = i < left.size() ? std::max<uint64_t>(left[i].low, at) : ~uint64_t{0};
    const uint64_t r = j < right.size() ? std::max<uint64_t>(right[j].low, at) : ~uint64_t{0};
    at = std::min(l, r);
    uint64_t end = ~uint64_t{0};
    const bool in_left = l == at;
    const bool in_right = r == at;
    end = in_left ? left[i].high : l - 1;
    end = std::min<uint64_t>(end, in_right ? right[j].high : r - 1);
    pair(static_cast<uint32_t>(at), static_cast<uint32_t>(end), in_left ? left[i].to : kDead,
         in_right ? right[j].to : kDead);
    at = end + 1;
    if (i < left.size() && left[i].high < at) ++i;
    if (j < right.size() && right[j].high < at) ++j;
  }
}

// Makes the smallest automaton of words that come in order: what can no longer change is compared
// with what is there.
class WordsMaker {
 public:
  explicit WordsMaker(size_t states_max) : states_max_(states_max), path_(1) {}

  // Returns false once there are too many states. REQUIRES: `word` is not below the last one.
  bool Add(const std::u32string& word) {
    if (ends_.size() + word.size() >= states_max_) return false;
    size_t common = 0;
    while (common < std::min(word.size(), last_.size()) && word[common] == last_[common]) ++common;
    Close(common);
    for (size_t i = common; i < word.size(); ++i) path_.emplace_back();
    path_.back().accepts = true;
    last_ = word;
    return ends_.size() + path_.size() <= states_max_;
  }

  std::vector<State> Take() {
    Close(0);
    ends_.push_back(std::move(path_[0]));
    // The first state is the last that was made; the numbers are turned round.
    const auto last = static_cast<uint32_t>(ends_.size() - 1);
    std::reverse(ends_.begin(), ends_.end());
    for (State& state : ends_) {
      for (Edge& edge : state.edges) edge.to = last - edge.to;
    }
    return std::move(ends_);
  }

 private:
  // Ends the states behind the first `length` characters of the last word.
  void Close(size_t length) {
    while (path_.size() > length + 1) {
      State state = std::move(path_.back());
      path_.pop_back();
      std::vector<uint32_t> key = {state.accepts ? 1U : 0U};
      for (const Edge& edge : state.edges) key.insert(key.end(), {edge.low, edge.high, edge.to});
      const auto [found, is_new] =
          known_.emplace(std::move(key), static_cast<uint32_t>(ends_.size()));
      if (is_new) ends_.push_back(std::move(state));
      const char32_t c = last_[path_.size() - 1];
      AppendEdge(c, c, found->second, &path_.back().edges);
    }
  }

  const size_t states_max_;
  std::u32string last_;
  std::vector<State> path_;  // of the last word
  std::vector<State> ends_;
  std::map<std::vector<uint32_t>, uint32_t> known_;
};

}  // namespace

Dfa Dfa::Everything() {
  std::vector<State> states(1);
  states[0].accepts = true;
  AddAnyEdges(0, &states[0].edges);
  return Dfa(std::move(states));
}

Dfa Dfa::Nothing() {
  return Dfa(std::vector<State>(1));
}

std::optional<Dfa> Dfa::OfWords(const std::vector<std::string>& words) {
  // UTF-8 is in the order of its characters; bytes that are none are all one character.
  std::vector<std::string_view> sorted(words.begin(), words.end());
  std::sort(sorted.begin(), sorted.end());
  WordsMaker maker(kWordStatesMax);
  std::u32string last;
  for (const std::string_view word : sorted) {
    // A character has at most 4 bytes.
    if (word.size() / 4 > kWordStatesMax) return std::nullopt;
    std::u32string characters = CodePointsOf(word);
    if (characters < last) return std::nullopt;
    if (!maker.Add(characters)) return std::nullopt;
    last = std::move(characters);
  }
  return Dfa(maker.Take());
}

Dfa Dfa::OfLengths(size_t least, std::optional<size_t> most) {
  const size_t count = (most ? *most : least) + 1;
  std::vector<State> states(count);
  for (size_t i = 0; i < count; ++i) {
    states[i].accepts = i >= least;
    if (i + 1 < count) AddAnyEdges(static_cast<uint32_t>(i + 1), &states[i].edges);
  }
  if (!most) AddAnyEdges(static_cast<uint32_t>(count - 1), &states.back().edges);
  return Dfa(std::move(states));
}

Dfa Dfa::Without(std::string_view word) {
  const std::u32string letters = CodePointsOf(word);
  // How much of the word is matched once `c` follows its first `size` letters.
  const auto follow = [&](size_t size, char32_t c) {
    std::u32string seen = letters.substr(0, size) + c;
    while (!letters.starts_with(seen)) seen.erase(0, 1);
    return seen.size();
  };
  std::vector<State> states(letters.size());
  for (size_t i = 0; i < letters.size(); ++i) {
    states[i].accepts = true;
    std::vector<CodeRange> named;
    std::map<uint32_t, size_t> to;
    for (const char32_t c : letters) to[c] = follow(i, c);
    for (const auto& [c, where] : to) named.push_back({c, c});
    std::vector<Edge>* edges = &states[i].edges;
    for (const CodeRange& range : CodePoints(named).Not().ranges()) {
      edges->push_back({range.low, range.high, 0});
    }
    for (const auto& [c, where] : to) {
      if (where < letters.size()) edges->push_back({c, c, static_cast<uint32_t>(where)});
    }
    std::sort(edges->begin(), edges->end(),
              [](const Edge& a, const Edge& b) { return a.low < b.low; });
  }
  return Dfa(std::move(states));
}

std::optional<Dfa> Dfa::With(const Dfa& other, Op op, WorkBudget* budget) const {
  std::unordered_map<uint64_t, uint32_t> numbers;
  std::vector<std::pair<uint32_t, uint32_t>> pairs;
  const auto number = [&](uint32_t left, uint32_t right) {
    const bool dead = op == Op::kAnd     ? left == kDead || right == kDead
                      : op == Op::kMinus ? left == kDead
                                         : left == kDead && right == kDead;
    if (dead) return kDead;
    const auto [found, is_new] =
        numbers.emplace(uint64_t{left} << 32 | right, static_cast<uint32_t>(pairs.size()));
    if (is_new) pairs.emplace_back(left, right);
    return found->second;
  };
  number(0, 0);
  // A language that is taken away from a small one adds few states.
  const size_t states_max =
      std::max(kStatesMax, op == Op::kMinus && states_.size() < 3 ? 3 * other.states_.size() : 0);
  std::vector<State> states;
  static const std::vector<Edge> none;
  for (size_t i = 0; i < pairs.size(); ++i) {
    const auto [left, right] = pairs[i];
    const bool a = left != kDead && states_[left].accepts;
    const bool b = right != kDead && other.states_[right].accepts;
    State state{op == Op::kAnd ? a && b : op == Op::kOr ? a || b : a && !b, {}};
    const std::vector<Edge>& edges = left == kDead ? none : states_[left].edges;
    const std::vector<Edge>& others = right == kDead ? none : other.states_[right].edges;
    if (pairs.size() > states_max || !budget->Take(1 + edges.size() + others.size())) {
      return std::nullopt;
    }
    WalkBoth(edges, others, [&](uint32_t low, uint32_t high, uint32_t l, uint32_t r) {
      const uint32_t to = number(l, r);
      if (to != kDead) AppendEdge(low, high, to, &state.edges);
    });
    states.push_back(std::move(state));
  }
  return Dfa(std::move(states)).Minimised(budget);
}

std::vector<bool> Dfa::Useful() const {
  std::vector<std::vector<uint32_t>> from(states_.size());
  std::vector<uint32_t> open;
  std::vector<bool> useful(states_.size());
  for (uint32_t i = 0; i < states_.size(); ++i) {
    for (const Edge& edge : states_[i].edges) from[edge.to].push_back(i);
    if (!states_[i].accepts) continue;
    useful[i] = true;
    open.push_back(i);
  }
  while (!open.empty()) {
    const uint32_t at = open.back();
    open.pop_back();
    for (const uint32_t before : from[at]) {
      if (useful[before]) continue;
      useful[before] = true;
      open.push_back(before);
    }
  }
  return useful;
}

Dfa Dfa::Trimmed() const {
  const std::vector<bool> useful = Useful();
  if (!useful[0]) return Nothing();
  std::vector<uint32_t> numbers(states_.size(), kDead);
  std::vector<uint32_t> order = {0};
  numbers[0] = 0;
  std::vector<State> states;
  for (size_t i = 0; i < order.size(); ++i) {
    State state{states_[order[i]].accepts, {}};
    for (const Edge& edge : states_[order[i]].edges) {
      if (!useful[edge.to]) continue;
      if (numbers[edge.to] == kDead) {
        numbers[edge.to] = static_cast<uint32_t>(order.size());
        order.push_back(edge.to);
      }
      AppendEdge(edge.low, edge.high, numbers[edge.to], &state.edges);
    }
    states.push_back(std::move(state));
  }
  return Dfa(std::move(states));
}

Dfa Dfa::Minimised(WorkBudget* budget) const {
  Dfa trimmed = Trimmed();
  std::vector<State>& states = trimmed.states_;
  std::vector<uint32_t> part(states.size());
  for (size_t i = 0; i < states.size(); ++i) part[i] = states[i].accepts ? 1 : 0;
  size_t parts = 0;
  bool stable = false;
  for (size_t round = 0; round < kRoundsMax && !stable; ++round) {
    std::map<std::vector<uint32_t>, uint32_t> known;
    std::vector<uint32_t> next(states.size());
    for (size_t i = 0; i < states.size(); ++i) {
      std::vector<Edge> merged;
      for (const Edge& edge : states[i].edges)
        AppendEdge(edge.low, edge.high, part[edge.to], &merged);
      std::vector<uint32_t> key = {part[i]};
      for (const Edge& edge : merged) key.insert(key.end(), {edge.low, edge.high, edge.to});
      if (!budget->Take(key.size())) return trimmed;
      next[i] = known.emplace(std::move(key), static_cast<uint32_t>(known.size())).first->second;
    }
    stable = known.size() == parts;
    parts = known.size();
    part = std::move(next);
  }
  // Parts that may still be split hold states that differ.
  if (!stable || parts == states.size()) return trimmed;
  std::vector<State> joined(parts);
  std::vector<bool> made(parts);
  for (size_t i = 0; i < states.size(); ++i) {
    if (made[part[i]]) continue;
    made[part[i]] = true;
    joined[part[i]].accepts = states[i].accepts;
    for (const Edge& edge : states[i].edges) {
      AppendEdge(edge.low, edge.high, part[edge.to], &joined[part[i]].edges);
    }
  }
  return Dfa(std::move(joined));
}

bool Dfa::empty() const {
  return !Useful()[0];
}

bool Dfa::IsEverything() const {
  if (states_.size() != 1 || !states_[0].accepts) return false;
  std::vector<CodeRange> ranges;
  for (const Edge& edge : states_[0].edges) ranges.push_back({edge.low, edge.high});
  return CodePoints(std::move(ranges)) == CodePoints::All();
}

bool Dfa::Matches(std::string_view text) const {
  uint32_t at = 0;
  for (const char32_t c : CodePointsOf(text)) {
    const std::vector<Edge>& edges = states_[at].edges;
    const auto edge =
        std::lower_bound(edges.begin(), edges.end(), static_cast<uint32_t>(c),
                         [](const Edge& one, uint32_t character) { return one.high < character; });
    if (edge == edges.end() || edge->low > c) return false;
    at = edge->to;
  }
  return states_[at].accepts;
}

Dfa::Lengths Dfa::TextLengths() const {
  const Dfa trimmed = Trimmed();
  const std::vector<State>& states = trimmed.states_;
  // States are taken once all that lead to them are: their longest text is known then. A loop is
  // never taken.
  std::vector<size_t> entries(states.size());
  for (const State& state : states) {
    for (const Edge& edge : state.edges) ++entries[edge.to];
  }
  std::vector<size_t> longest(states.size());
  std::vector<uint32_t> order;
  if (entries[0] == 0) order.push_back(0);
  size_t most = 0;
  for (size_t i = 0; i < order.size(); ++i) {
    const uint32_t at = order[i];
    if (states[at].accepts) most = std::max(most, longest[at]);
    for (const Edge& edge : states[at].edges) {
      longest[edge.to] = std::max(longest[edge.to], longest[at] + 1);
      if (--entries[edge.to] == 0) order.push_back(edge.to);
    }
  }
  Lengths lengths;
  lengths.least = trimmed.Shortest();
  if (order.size() == states.size()) lengths.most = most;
  return lengths;
}

size_t Dfa::Shortest() const {
  std::vector<size_t> shortest(states_.size(), ~size_t{0});
  std::vector<uint32_t> order = {0};
  shortest[0] = 0;
  for (size_t i = 0; i < order.size(); ++i) {
    const uint32_t at = order[i];
    if (states_[at].accepts) return shortest[at];
    for (const Edge& edge : states_[at].edges) {
      if (shortest[edge.to] != ~size_t{0}) continue;
      shortest[edge.to] = shortest[at] + 1;
      order.push_back(edge.to);
    }
  }
  return 0;
}

}  // namespace cairn
