// The nodes of a regular expression, and the automaton that is made of them.

#ifndef CAIRN_API_GRAMMAR_PATTERN_REGEX_NODES_H_
#define CAIRN_API_GRAMMAR_PATTERN_REGEX_NODES_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "api/grammar/pattern/code_points.h"
#include "api/grammar/pattern/dfa.h"

namespace cairn {

constexpr uint32_t kNoNode = ~uint32_t{0};

// A node of a non-deterministic automaton. It takes a character, is at the begin or end of the
// text, is where a look-ahead holds, or leads on freely.
struct RegexNode {
  enum class Kind : uint8_t { kTake, kBegin, kEnd, kLook, kFree };
  Kind kind = Kind::kFree;
  CodePoints takes = {};
  uint32_t to = kNoNode;
  uint32_t other = kNoNode;  // of kFree; of kLook an index of RegexNodes::looks
};

struct NodeSpan {
  uint32_t begin = 0;
  uint32_t end = 0;  // a kFree node that leads nowhere yet
};

struct RegexNodes {
  // The text from here on must begin with the part, or must not.
  struct Look {
    NodeSpan part;
    bool negated = false;
  };
  std::vector<RegexNode> nodes = {};
  std::vector<Look> looks = {};
};

// Returns the texts that the part is found in. Nullopt beyond Dfa::kStatesMax or the budget.
std::optional<Dfa> DfaOfNodes(const RegexNodes& regex, const NodeSpan& part, WorkBudget* budget);

}  // namespace cairn

#endif  // CAIRN_API_GRAMMAR_PATTERN_REGEX_NODES_H_
