// Divergence: how a new prompt diverged from a stored one. From many divergences a placement policy
// learns where checkpoints would have been useful.
//
//   stored   | system | user 1 | answer 1 | user 2 | answer 2 | user 3 | (answer 3)
//   new      | system | user 1 | answer 1 | user 2, edited |           ^ stored_tokens
//                                             ^ diverged_at
//                                         '--' tokens_into_message, turns_from_end = 1

#ifndef CAIRN_POLICY_DIVERGENCE_H_
#define CAIRN_POLICY_DIVERGENCE_H_

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

}  // namespace cairn

#endif  // CAIRN_POLICY_DIVERGENCE_H_
