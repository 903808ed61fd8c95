// Placement: where along a prompt to take checkpoints. This is the header of policy/ that others
// include for it; each policy is a file of its own behind it.
//
// Policies are pure: no clock, no I/O, the same answer for the same question. They name positions
// as they wish; whoever asks rounds them down to the exactness grid and drops what is there
// already.

#ifndef CAIRN_POLICY_PLACEMENT_H_
#define CAIRN_POLICY_PLACEMENT_H_

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "policy/prompt_shape.h"

namespace cairn {

// Why a checkpoint is where it is. Classes differ in what they are worth. The values are part of
// what is written to disk: never change one, never use one again.
enum class CheckpointClass : uint8_t {
  kHeader = 1,    // after the system message and the tools
  kTurn = 2,      // before a message
  kPrompt = 3,    // end of the last message, before the generation prompt
  kEnd = 4,       // the very end of a prompt
  kLadder = 5,    // a micro-batch before the end, for an edited last message
  kReply = 6,     // after an answer, as it will come back
  kBranch = 7,    // where two prompts were seen to part
  kInterval = 8,  // every so many tokens
  kMark = 9,      // where the client asked
};
std::string_view CheckpointClassName(CheckpointClass checkpoint_class);

struct Placement {
  size_t position = 0;
  CheckpointClass checkpoint_class = CheckpointClass::kInterval;

  friend bool operator==(const Placement&, const Placement&) = default;
};

struct PlacementInput {
  const PromptShape& shape;
  size_t piece_tokens;  // of one micro-batch
};

class PlacementPolicy {
 public:
  virtual ~PlacementPolicy() = default;
  // Appends to `placements`, in any order; positions past the prompt's end are ignored.
  virtual void Place(const PlacementInput& input, std::vector<Placement>* placements) const = 0;
};

// `names` is one name or several with commas between them, which add up: "near-end,user-turns".
// kInvalidArgument names the policies there are.
Result<std::unique_ptr<PlacementPolicy>> MakePlacement(std::string_view names);

// Each with its file.
std::unique_ptr<PlacementPolicy> MakeNearEndPlacement();
std::unique_ptr<PlacementPolicy> MakeNonePlacement();
std::unique_ptr<PlacementPolicy> MakeUserTurnsPlacement();

}  // namespace cairn

#endif  // CAIRN_POLICY_PLACEMENT_H_
