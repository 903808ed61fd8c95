// Placement: where along a prompt to take checkpoints. This is the header of policy/ that others
// include for it; each policy is a file of its own behind it.
//
// Policies see no clock and do no I/O: the same answer for the same question, after the same
// Learns. What MakePlacement returns keeps to the grid it is told and out of reasoning, whatever
// the policies behind it say; whoever asks drops what is there already.
//
// Threads: one at a time, like the cache that owns the policy.

#ifndef CAIRN_POLICY_PLACEMENT_H_
#define CAIRN_POLICY_PLACEMENT_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "policy/divergence.h"
#include "policy/policy_summary.h"
#include "policy/prompt_shape.h"

namespace cairn {

// Why a checkpoint is where it is. Classes differ in what they are worth. The values are part of
// what is written to disk: never change one, never use one again.
enum class CheckpointClass : uint8_t {
  kHeader = 1,     // after the system message and the tools
  kTurn = 2,       // before a user's message
  kPrompt = 3,     // end of the last message, before the generation prompt
  kEnd = 4,        // the very end of a prompt
  kLadder = 5,     // a micro-batch before the end, for an edited last message
  kReply = 6,      // after an answer, as it will come back
  kBranch = 7,     // where two prompts were seen to part
  kInterval = 8,   // every so many tokens
  kMark = 9,       // where the client asked
  kQuery = 10,     // as kPrompt, and the last message is the user's: to be kept through a tool loop
  kToolTurn = 11,  // before a tool's result
};
std::string_view CheckpointClassName(CheckpointClass checkpoint_class);
// Nothing: no class has this value, or none that we know.
std::optional<CheckpointClass> ParseCheckpointClass(uint8_t value);
// How much likelier than one before a user's message a checkpoint of this class is wanted.
double ClassWeight(CheckpointClass checkpoint_class);

struct Placement {
  size_t position = 0;
  CheckpointClass checkpoint_class = CheckpointClass::kInterval;

  friend bool operator==(const Placement&, const Placement&) = default;
};

struct PlacementInput {
  const PromptShape& shape;
  size_t chunk_tokens;     // of one micro-batch
  size_t grid_tokens = 1;  // positions come rounded down to its multiples
  // Only positions after it can be taken: the prompt is there already up to here.
  size_t resumed_tokens = 0;
  // Where this prompt parted from what is stored; 0: nowhere, or unknown.
  size_t diverged_at = 0;
  // Positions of checkpoints that lie on this prompt's path already, shallowest first.
  std::span<const size_t> held = {};
  // What this prompt's checkpoints should keep to, and what one takes; 0: unknown. Only auto looks
  // at it.
  size_t bytes_budget = 0;
  size_t snapshot_bytes = 0;
  // What taking one costs, as tokens that could be read meanwhile; 0: unknown.
  double snapshot_cost_tokens = 0;
};

class PlacementPolicy {
 public:
  virtual ~PlacementPolicy() = default;
  // Appends to `placements`, in any order. Every position is in (0, shape.tokens].
  virtual void Place(const PlacementInput& input, std::vector<Placement>* placements) const = 0;
  // To be told once for every prompt of which something was stored.
  virtual void Learn(const Divergence& /*divergence*/) {}
};

struct PlacementOptions {
  size_t every_nt_tokens = 8192;  // of every-nt, and of auto's insurance; 0: none
  size_t every_nb_batches = 3;    // of every-nb; 0: none
  size_t batch_tokens = 2048;     // of one batch, for every-nb
};

// `names` is one name or several with commas between them, which add up: "near-end,user-turns".
// kInvalidArgument names the policies there are.
Result<std::unique_ptr<PlacementPolicy>> MakePlacement(std::string_view names,
                                                       const PlacementOptions& options = {});

// In the order of their names.
std::vector<PolicySummary> PlacementSummaries();

// Rounds positions down to `grid_tokens`, moves those inside reasoning before it, and leaves out
// what lies outside (0, shape.tokens]. A state that has read half of a thought is of no use to
// anyone: the next prompt has no thought, or all of it and more.
void KeepOutOfReasoning(const PromptShape& shape, size_t grid_tokens,
                        std::vector<Placement>* placements);

// Each with its file.
std::unique_ptr<PlacementPolicy> MakeAutoPlacement(const PlacementOptions& options);
std::unique_ptr<PlacementPolicy> MakeEogPlacement(const PlacementOptions& options);
std::unique_ptr<PlacementPolicy> MakeEveryNbPlacement(const PlacementOptions& options);
std::unique_ptr<PlacementPolicy> MakeEveryNtPlacement(const PlacementOptions& options);
std::unique_ptr<PlacementPolicy> MakeMarconiPlacement(const PlacementOptions& options);
std::unique_ptr<PlacementPolicy> MakeNearEndPlacement(const PlacementOptions& options);
std::unique_ptr<PlacementPolicy> MakeNonePlacement(const PlacementOptions& options);
std::unique_ptr<PlacementPolicy> MakeUserTurnsPlacement(const PlacementOptions& options);

}  // namespace cairn

#endif  // CAIRN_POLICY_PLACEMENT_H_
