// SeenSequences: the token sequences sent to a server so far. They bound the prefill of a prompt
// from below: without other knowledge, a server can only reuse a prefix that one of them has.
//
//   seen    [a b c d] [a b x y]        prompt [a b x z q]  ->  lower bound of 2 tokens (z q)

#ifndef CAIRN_LAB_BENCH_PREFILL_LOWER_BOUND_H_
#define CAIRN_LAB_BENCH_PREFILL_LOWER_BOUND_H_

#include <cstddef>
#include <cstdint>
#include <set>
#include <span>
#include <vector>

namespace cairn {

// Not thread-safe.
class SeenSequences {
 public:
  // Adds a prompt, or a prompt and its answer.
  void Add(std::vector<int32_t> tokens);

  // Returns the length of the longest prefix that `tokens` shares with a seen sequence.
  size_t SharedPrefix(std::span<const int32_t> tokens) const;

  // Returns the number of tokens to prefill: all after the shared prefix, and always the last one,
  // whose logits are needed. Returns 0 for an empty prompt.
  size_t PrefillLowerBound(std::span<const int32_t> prompt) const;

 private:
  struct Less {
    using is_transparent = void;
    bool operator()(std::span<const int32_t> a, std::span<const int32_t> b) const;
  };
  // In lexicographic order, so that the sequence with the longest shared prefix is a neighbour.
  std::set<std::vector<int32_t>, Less> sequences_;
};

}  // namespace cairn

#endif  // CAIRN_LAB_BENCH_PREFILL_LOWER_BOUND_H_
