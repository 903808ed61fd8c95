// Divergence: how a new prompt parted from what was stored. A placement policy that is told of many
// learns where checkpoints would have been worth having.
//
//   stored   | header | user 1 | answer 1 | user 2 | answer 2 | user 3 | (answer 3)
//   new      | header | user 1 | answer 1 | user 2, edited |           ^ stored_tokens
//                                             ^ diverged_at
//                                         '--' tokens_into_message, turns_from_end = 1

#ifndef CAIRN_POLICY_DIVERGENCE_H_
#define CAIRN_POLICY_DIVERGENCE_H_

#include <cstddef>
#include <cstdint>

#include "policy/prompt_shape.h"

namespace cairn {

// Within so many tokens after a boundary, prompts part at the boundary: they have the template's
// opening of a message in common, and by chance a few words.
inline constexpr size_t kBoundaryTokens = 64;

enum class DivergedIn : uint8_t { kUnknown, kHeader, kHeaderEnd, kUser, kTool };

// A prompt that repeats all the messages that were stored and goes on parts at their end: such ones
// count too, for they say how rare the others are.
struct Divergence {
  static constexpr size_t kUnknown = SIZE_MAX;

  // End of the stored prompt's messages. The generation prompt and the answer after it are not
  // looked at: that those come back otherwise is no divergence that a checkpoint could help.
  size_t stored_tokens = 0;
  size_t diverged_at = 0;    // tokens they have in common
  size_t prompt_tokens = 0;  // of the new prompt
  // The message in which they part (an answer belongs to the turn before it), and how many tokens
  // of it they have in common.
  DivergedIn diverged_in = DivergedIn::kUnknown;
  size_t tokens_into_message = 0;
  // That turn, counted from the stored prompt's last, which is 0.
  size_t turns_from_end = kUnknown;
};

// `shape` is the new prompt's; it knows the stored one's messages up to where they part.
// `stored_turns`: how many turns the stored prompt had, 0 when that was not kept.
Divergence DescribeDivergence(const PromptShape& shape, size_t diverged_at, size_t stored_tokens,
                              size_t stored_turns);

}  // namespace cairn

#endif  // CAIRN_POLICY_DIVERGENCE_H_
