// DivergenceHistogram: estimates where prompts diverge from earlier ones, as shares of all prompts.
// It starts with a prior from recorded sessions and adapts to the prompts it sees.
//
//   share |#                                  at a turn    user  #  #  . .       (counted from the
//         |#                                               tool  .  .  . .        stored prompt's
//         |# .   . . . . . . . . . .                             0  1 2-3 4-7     last turn)
//         +---------------------------
//          16  128   1k   16k  256k  tokens before the stored prompt's end
//
// A divergence within kBoundaryTokens after the beginning of a turn is counted at that turn; any
// other by its distance from the end, in buckets that double. A divergence at the system prefix's
// end is counted as neither, because the checkpoint there is always taken. It only makes the others
// rarer, as do prompts that repeat all messages and continue.
//
// Counts fade, so the last few hundred prompts dominate (Sparse Prefix Caching, arXiv 2605.05219,
// learns its histogram of overlaps likewise). The prior keeps a sixth of the weight forever, so
// that events not seen for long are still insured against.

#ifndef CAIRN_POLICY_DIVERGENCE_HISTOGRAM_H_
#define CAIRN_POLICY_DIVERGENCE_HISTOGRAM_H_

#include <array>
#include <cstddef>

#include "policy/divergence.h"

namespace cairn {

class DivergenceHistogram {
 public:
  void Learn(const Divergence& divergence);

  // Returns the share of all prompts that diverge at most `tokens_from_end` tokens before the
  // stored prompt's end, and not at a turn.
  double ShareWithin(size_t tokens_from_end) const;

  // Returns the share of all prompts that diverge at the beginning of exactly this turn. 0 is the
  // last one.
  double ShareAtTurn(bool by_user, size_t turns_from_end) const;

 private:
  static constexpr size_t kDistanceBuckets = 24;  // [2^b, 2^(b+1)) tokens; the last is unbounded
  static constexpr size_t kTurnBuckets = 10;      // 0, 1, 2-3, 4-7, …; the last is unbounded

  struct Counts {
    double prompts = 0;
    std::array<double, kDistanceBuckets> distances{};
    std::array<double, kTurnBuckets> user_turns{};
    std::array<double, kTurnBuckets> tool_turns{};
  };

  static Counts Prior();
  static size_t TurnBucket(size_t turns_from_end);
  void Fade();

  const Counts prior_ = Prior();
  Counts learned_;
};

}  // namespace cairn

#endif  // CAIRN_POLICY_DIVERGENCE_HISTOGRAM_H_
