// SeenSequences: what a server has been shown so far, as token ids, and how much of a new prompt
// none of it begins with. No server can read fewer tokens of that prompt without knowing more.
//
//   shown   [a b c d] [a b x y]        prompt [a b x z q]  ->  2 tokens (z q) cannot be avoided

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
  // A prompt, or a prompt and its answer.
  void Add(std::vector<int32_t> tokens);

  // The length of the longest beginning that `tokens` shares with a sequence seen.
  size_t SharedPrefix(std::span<const int32_t> tokens) const;

  // What of a prompt cannot be avoided: all after the shared prefix, at least the last token, whose
  // logits are asked for. 0 for an empty prompt.
  size_t PrefillLowerBound(std::span<const int32_t> prompt) const;

 private:
  struct Less {
    using is_transparent = void;
    bool operator()(std::span<const int32_t> a, std::span<const int32_t> b) const;
  };
  // In lexicographic order: the sequences with which another shares most stand beside its place.
  std::set<std::vector<int32_t>, Less> sequences_;
};

}  // namespace cairn

#endif  // CAIRN_LAB_BENCH_PREFILL_LOWER_BOUND_H_
