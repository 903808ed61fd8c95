// DivergenceHistogram: where prompts part from those before them, as shares of all prompts. It
// begins with what was seen elsewhere and moves towards what is seen here.
//
//   share |#                                  at a turn    user  #  #  . .       (counted from the
//         |#                                               tool  .  .  . .        stored prompt's
//         |# .   . . . . . . . . . .                             0  1 2-3 4-7     last turn)
//         +---------------------------
//          16  128   1k   16k  256k  tokens before the stored prompt's end
//
// A divergence within kBoundaryTokens after the begin of a turn is counted at that turn; any other
// by its distance from the end, in buckets that double. One at the header's end is neither: the
// checkpoint there is never in question. All three only make the others rarer, as do prompts that
// repeat everything and go on.
//
// Counts fade: the last few hundred prompts decide (Sparse Prefix Caching, arXiv 2605.05219, learns
// its histogram of overlaps likewise). What it began with keeps a sixth of the say for good, so
// that something not seen for long is still insured against.

#ifndef CAIRN_POLICY_DIVERGENCE_HISTOGRAM_H_
#define CAIRN_POLICY_DIVERGENCE_HISTOGRAM_H_

#include <array>
#include <cstddef>

#include "policy/divergence.h"

namespace cairn {

class DivergenceHistogram {
 public:
  void Learn(const Divergence& divergence);

  // Of all prompts, the share that part at most so many tokens before the stored prompt's end, and
  // not at a turn.
  double ShareWithin(size_t tokens_from_end) const;

  // Of all prompts, the share that part at the begin of this very turn. 0 is the last one.
  double ShareAtTurn(bool by_user, size_t turns_from_end) const;

 private:
  static constexpr size_t kDistanceBuckets = 24;  // [2^b, 2^(b+1)) tokens; the last has no end
  static constexpr size_t kTurnBuckets = 10;      // 0, 1, 2-3, 4-7, …; the last has no end

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
