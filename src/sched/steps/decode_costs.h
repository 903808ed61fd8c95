// DecodeCosts: the measured time of a decode by its number of tokens, and the length of draft that
// gives the most tokens for it.
//
//   tokens of an answer for k drafted ones, each accepted with probability p if those before it
//   were:
//     1 + p + p^2 + … + p^k
//
// On a GPU a few more tokens cost almost nothing. On a CPU each may cost as much as the first, and
// then no draft pays.
//
// Pure; one thread at a time.

#ifndef CAIRN_SCHED_STEPS_DECODE_COSTS_H_
#define CAIRN_SCHED_STEPS_DECODE_COSTS_H_

#include <cstddef>
#include <cstdint>
#include <vector>

namespace cairn {

class DecodeCosts {
 public:
  // Records the time of a decode of `tokens` tokens.
  void Add(size_t tokens, double ms);
  // Returns the expected time. Where larger decodes were not measured, they are taken for cheap, so
  // that they are tried. 0 if nothing was measured.
  double Of(size_t tokens) const;

 private:
  struct Cost {
    uint64_t count = 0;
    double ms = 0;
  };
  // Whether the time is known. The first decode of a size is slow, because libllama builds its
  // graph.
  static bool IsKnown(const Cost& cost) { return cost.count > 1; }

  std::vector<Cost> costs_;  // by tokens
};

// A decode as it is planned so far: its tokens, and how many of them answers are expected to gain.
struct PlannedDecode {
  size_t tokens = 0;
  double gained = 0;
};

// The time that a draft takes beside its verification.
struct DraftCost {
  double snapshot_ms = 0;  // of a draft longer than rollback_tokens
  size_t rollback_tokens = 0;
  double ms_per_token = 0;  // of drafting
};

// Returns how many of at most `tokens_max` drafted tokens to add to the decode, of which each is
// accepted with probability `accepted` if those before it were.
size_t BestDraftLength(const DecodeCosts& costs, const PlannedDecode& decode, double accepted,
                       const DraftCost& draft, size_t tokens_max);
// The tokens that an answer is expected to gain by a draft of `tokens`.
double ExpectedGain(double accepted, size_t tokens);

}  // namespace cairn

#endif  // CAIRN_SCHED_STEPS_DECODE_COSTS_H_
