// Dfa: a regular language of texts, as a deterministic automaton over characters. Schemas restrict
// strings and names by patterns, lengths and lists that hold at once; their languages are put
// together here, and then written as rules of a grammar.
//
// Any thread. Every operation that can grow takes a budget of steps and returns nullopt once it is
// used up, so a hostile pattern costs bounded work.

#ifndef CAIRN_API_GRAMMAR_PATTERN_DFA_H_
#define CAIRN_API_GRAMMAR_PATTERN_DFA_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cairn {

// Steps that are left for all work on one schema.
class WorkBudget {
 public:
  explicit WorkBudget(size_t steps) : left_(steps) {}
  // Returns false if fewer are left; then none are.
  bool Take(size_t steps) {
    left_ = steps > left_ ? 0 : left_ - steps;
    return left_ > 0;
  }
  size_t left() const { return left_; }

 private:
  size_t left_;
};

class Dfa {
 public:
  static constexpr size_t kStatesMax = 6000;
  // The limit for lists of words, of which a grammar holds more.
  static constexpr size_t kWordStatesMax = 200000;

  struct Edge {
    uint32_t low = 0;
    uint32_t high = 0;
    uint32_t to = 0;
  };
  struct State {
    bool accepts = false;
    std::vector<Edge> edges;  // sorted, disjoint; other characters are refused
  };
  enum class Op : uint8_t { kAnd, kOr, kMinus };

  // The state 0 is the first. REQUIRES: there is one.
  explicit Dfa(std::vector<State> states) : states_(std::move(states)) {}

  static Dfa Everything();
  static Dfa Nothing();
  // The texts among `words`, which are UTF-8, and no other; the smallest automaton. Nullopt if it
  // has more than kWordStatesMax states.
  static std::optional<Dfa> OfWords(const std::vector<std::string>& words);
  // All texts of `least` to `most` characters. REQUIRES: at most kStatesMax - 2.
  static Dfa OfLengths(size_t least, std::optional<size_t> most);
  // All texts that do not hold `word`, which is not empty.
  static Dfa Without(std::string_view word);

  std::optional<Dfa> With(const Dfa& other, Op op, WorkBudget* budget) const;
  // The same language with fewest states and none that leads nowhere. A large automaton keeps
  // some.
  Dfa Minimised(WorkBudget* budget) const;

  bool empty() const;
  bool IsEverything() const;
  bool Matches(std::string_view text) const;
  // The lengths of the shortest and longest texts; no longest if texts get ever longer. REQUIRES:
  // not empty().
  struct Lengths {
    size_t least = 0;
    std::optional<size_t> most;
  };
  Lengths TextLengths() const;
  const std::vector<State>& states() const { return states_; }

 private:
  // Which states lead to one that accepts.
  std::vector<bool> Useful() const;
  Dfa Trimmed() const;
  // The length of the shortest text.
  size_t Shortest() const;

  std::vector<State> states_;
};

}  // namespace cairn

#endif  // CAIRN_API_GRAMMAR_PATTERN_DFA_H_
