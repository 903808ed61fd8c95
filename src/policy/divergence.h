// Divergence: how a new prompt diverged from a stored one. From many divergences a placement policy
// learns where checkpoints would have been useful.
//
//   stored   | system | user 1 | answer 1 | user 2 | answer 2 | user 3 | (answer 3)
//   new      | system | user 1 | answer 1 | user 2, edited |           ^ stored_tokens
//                                             ^ diverged_at
//                                         '--' tokens_into_message, turns_from_end = 1

#ifndef CAIRN_POLICY_DIVERGENCE_H_
#define CAIRN_POLICY_DIVERGENCE_H_

#include <array>
#include <cstddef>
#include <cstdint>

#include "policy/prompt_shape.h"

namespace cairn {

// Prompts that diverge within this many tokens after a boundary count as diverging at the boundary:
// they share the template's opening of a message, and by chance a few words.
inline constexpr size_t kBoundaryTokens = 64;

enum class DivergedIn : uint8_t { kUnknown, kHeader, kHeaderEnd, kUser, kTool };

// A prompt that repeats all stored messages and continues diverges at their end. Such prompts count
// too, because they show how rare the others are.
struct Divergence {
  static constexpr size_t kUnknown = SIZE_MAX;

  // End of the stored prompt's messages. The generation prompt and the answer after it are ignored:
  // a divergence there could not be helped by a checkpoint.
  size_t stored_tokens = 0;
  size_t diverged_at = 0;    // tokens they have in common
  size_t prompt_tokens = 0;  // of the new prompt
  // The message in which they diverge (an answer belongs to the turn before it), and how many
  // tokens of it they have in common.
  DivergedIn diverged_in = DivergedIn::kUnknown;
  size_t tokens_into_message = 0;
  // The turn of that message, counted from the stored prompt's last, which is 0.
  size_t turns_from_end = kUnknown;
};

// `shape`: that of the new prompt, which equals the stored one's up to the divergence.
// `stored_turns`: the number of turns of the stored prompt; 0 if that is unknown.
Divergence DescribeDivergence(const PromptShape& shape, size_t diverged_at, size_t stored_tokens,
                              size_t stored_turns);

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

#endif  // CAIRN_POLICY_DIVERGENCE_H_
