// Parting: how a new prompt parted from what was stored. A placement policy that is told of many
// learns where checkpoints would have been worth having.
//
//   stored   | header | user 1 | answer 1 | user 2 | answer 2 |
//   new      | header | user 1 | answer 1 | user 2, edited |
//                                             ^ parted_at    ^ stored_tokens
//                                         '--' tokens_into_message

#ifndef CAIRN_POLICY_PARTING_H_
#define CAIRN_POLICY_PARTING_H_

#include <cstddef>
#include <cstdint>

#include "policy/prompt_shape.h"

namespace cairn {

enum class PartedIn : uint8_t { kUnknown, kHeader, kUser, kTool };

// How a new prompt parted from what was stored. One that repeats all that was stored and goes on
// parts at its end: those count too, for they say how seldom the others are.
struct Parting {
  static constexpr size_t kUnknown = SIZE_MAX;

  size_t stored_tokens = 0;  // end of the path it parted from
  size_t parted_at = 0;      // tokens they have in common
  size_t prompt_tokens = 0;  // of the new prompt
  // The message in which they part, and how many tokens of it they have in common.
  PartedIn parted_in = PartedIn::kUnknown;
  size_t tokens_into_message = 0;
  // Turns of the stored prompt that begin after the place where they part.
  size_t turns_from_end = kUnknown;
};

// `shape` is the new prompt's; it knows the stored one's messages up to where they part.
// `stored_turns`: how many turns the stored prompt had, 0 when that was not kept.
Parting DescribeParting(const PromptShape& shape, size_t parted_at, size_t stored_tokens,
                        size_t stored_turns);

}  // namespace cairn

#endif  // CAIRN_POLICY_PARTING_H_
