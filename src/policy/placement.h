// Placement: chooses where along a prompt to take checkpoints. This is the header of policy/ that
// others include for it; the policies stand in placement.cc, and `auto` in placement_auto.cc.
//
// Policies see no clock and do no I/O: the same input gives the same result, after the same calls
// of Learn. A policy made by MakePlacement keeps to the grid and out of reasoning, whatever the
// policies behind it return; the caller drops positions that are stored already.
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
#include "tree/prompt_cuts.h"

namespace cairn {

// The reason of a checkpoint's position. Classes differ in value. The numbers are written to disk:
// never change one, never reuse one.
enum class CheckpointClass : uint8_t {
  kHeader = 1,     // after the system message and the tools
  kTurn = 2,       // before a user's message
  kPrompt = 3,     // end of the last message, before the generation prompt
  kEnd = 4,        // the very end of a prompt
  kLadder = 5,     // a ubatch before the end, for an edited last message
  kReply = 6,      // after an answer, in the form in which it will come back
  kBranch = 7,     // where two prompts were seen to diverge
  kInterval = 8,   // at regular intervals
  kMark = 9,       // where the client requested one
  kQuery = 10,     // as kPrompt, and the last message is the user's: kept through a tool loop
  kToolTurn = 11,  // before a tool's result
  kMedia = 12,     // before or after an image or a recording
};
std::string_view CheckpointClassName(CheckpointClass checkpoint_class);
// Returns nullopt if no known class has this value.
std::optional<CheckpointClass> ParseCheckpointClass(uint8_t value);
// Returns how much likelier a checkpoint of this class is wanted than one before a user's message.
double ClassWeight(CheckpointClass checkpoint_class);

struct Placement {
  size_t position = 0;
  CheckpointClass checkpoint_class = CheckpointClass::kInterval;

  friend bool operator==(const Placement&, const Placement&) = default;
};

struct PlacementInput {
  const PromptShape& shape;
  size_t chunk_tokens;                  // of one ubatch
  PromptCuts cuts = {1, shape.tokens};  // where checkpoints can be taken
  // Checkpoints can only be taken after this position: the prompt up to here needs no prefill.
  size_t resumed_tokens = 0;
  // Where this prompt diverged from the stored ones; 0: nowhere, or unknown.
  size_t diverged_at = 0;
  // Positions of checkpoints that lie on this prompt's path already, shallowest first.
  std::span<const size_t> held = {};
  // The budget of this prompt's checkpoints, and the size of one, in bytes; 0: unknown. Only the
  // auto policy uses them.
  size_t bytes_budget = 0;
  size_t snapshot_bytes = 0;
  // The cost of taking a checkpoint, in tokens that could be prefilled in the same time; 0:
  // unknown.
  double snapshot_cost_tokens = 0;
};

class PlacementPolicy {
 public:
  virtual ~PlacementPolicy() = default;
  // Appends to `placements`, in any order. Every position is in (0, shape.tokens].
  virtual void Place(const PlacementInput& input, std::vector<Placement>* placements) const = 0;
  // Called once for every prompt of which a part was stored.
  virtual void Learn(const Divergence& /*divergence*/) {}
};

struct PlacementOptions {
  size_t every_nt_tokens = 8192;  // for every-nt, and for auto's insurance; 0: none
  size_t every_nb_batches = 3;    // for every-nb; 0: none
  size_t batch_tokens = 2048;     // of one batch, for every-nb
};

// `names`: one name, or several separated by commas, whose placements add up:
// "near-end,user-turns". kInvalidArgument for an unknown name; the message lists the policies.
Result<std::unique_ptr<PlacementPolicy>> MakePlacement(std::string_view names,
                                                       const PlacementOptions& options = {});

// Sorted by name.
std::vector<PolicySummary> PlacementSummaries();

// Moves positions to the cuts for checkpoints, moves those inside reasoning to before it, and
// removes those outside (0, shape.tokens]. A state inside a reasoning block is useless: the next
// prompt has either none of the block, or all of it and more.
void KeepOutOfReasoning(const PromptShape& shape, const PromptCuts& cuts,
                        std::vector<Placement>* placements);
// Returns the cut at which the checkpoint is taken. Where prompts diverge it is never behind the
// divergence.
size_t CutFor(const Placement& placement, const PromptCuts& cuts);

// The policy that has a file of its own, placement_auto.cc.
std::unique_ptr<PlacementPolicy> MakeAutoPlacement(const PlacementOptions& options);

}  // namespace cairn

#endif  // CAIRN_POLICY_PLACEMENT_H_
