// SequenceNumbers: assigns numbers to the tokens of sequences, so that two sequences share exactly
// as long a prefix as their numbers do.
//
//   first    t h e   c a t        0 1 2 3 4 5 6
//   second   t h e   d o g s      0 1 2 3 7 8 9 10
//   third    t h e   d o t        0 1 2 3 7 8 11
//
// A number stands for a token together with all tokens before it. Numbers are assigned in the order
// in which tokens are first seen. They therefore reveal which prefixes are shared and nothing else:
// not the tokens, and not even whether a word occurs twice. There is no hash that could be attacked
// by guessing.
//
// The object keeps the tokens that it has seen, at four bytes for each number. When there are more
// than `tokens_max`, the half that was used longest ago is dropped, and gets new numbers if it is
// seen again.
//
// Threads: one at a time.

#ifndef CAIRN_TRACE_SEQUENCE_NUMBERS_H_
#define CAIRN_TRACE_SEQUENCE_NUMBERS_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <unordered_map>
#include <vector>

#include "base/tokens.h"
#include "trace/block_range.h"

namespace cairn {

class SequenceNumbers {
 public:
  // `next` is the first number to assign.
  explicit SequenceNumbers(uint64_t next = 0, size_t tokens_max = SIZE_MAX)
      : next_(next), tokens_max_(tokens_max) {}

  // Returns the numbers of `tokens` as few ranges. Sequences with different roots share no number.
  // Returns nullopt if no numbers are left (kTraceTokensMax).
  std::optional<std::vector<BlockRange>> Add(uint64_t root, TokenSpan tokens);

  uint64_t next() const { return next_; }
  size_t held_tokens() const { return held_tokens_; }

 private:
  // Tokens with consecutive numbers, first ... first + tokens.size() - 1.
  struct Node {
    uint64_t first = 0;
    Tokens tokens;
    uint64_t used = 0;
    std::map<Token, uint32_t> children;  // by their first token
  };

  uint32_t RootOf(uint64_t root);
  void Split(uint32_t node, size_t at);
  void ForgetOldest();

  uint64_t next_;
  const size_t tokens_max_;
  size_t held_tokens_ = 0;
  uint64_t tick_ = 0;
  std::unordered_map<uint64_t, uint32_t> roots_;
  std::vector<Node> nodes_;
};

}  // namespace cairn

#endif  // CAIRN_TRACE_SEQUENCE_NUMBERS_H_
