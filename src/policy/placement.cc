#include "policy/placement.h"

#include <algorithm>
#include <array>
#include <ranges>
#include <string>
#include <utility>

#include "base/check.h"
#include "base/join.h"

namespace cairn {
namespace {

struct NamedPlacement {
  PolicySummary policy;
  std::unique_ptr<PlacementPolicy> (*make)(const PlacementOptions& options);
};

constexpr std::array<NamedPlacement, 8> kPlacements{{
    {{"auto", "the ends every prompt needs, then where most prefill is saved"}, MakeAutoPlacement},
    {{"eog", "after every message"}, MakeEogPlacement},
    {{"every-nb", "every N batches of -b tokens (--checkpoint-every-nb)"}, MakeEveryNbPlacement},
    {{"every-nt", "every N tokens (--checkpoint-every-nt)"}, MakeEveryNtPlacement},
    {{"marconi", "where prompts diverged before, and the end"}, MakeMarconiPlacement},
    {{"near-end", "the end of the last message, and one ubatch before it"}, MakeNearEndPlacement},
    {{"none", "no checkpoints, as a baseline"}, MakeNonePlacement},
    {{"user-turns", "after the system prefix, before every user message"}, MakeUserTurnsPlacement},
}};

std::string_view PlacementName(const NamedPlacement& placement) {
  return placement.policy.name;
}

// Returns the reasoning that `position` lies in, or nullptr.
const ReasoningRange* ReasoningAround(const PromptShape& shape, size_t position) {
  const auto after =
      std::lower_bound(shape.reasoning.begin(), shape.reasoning.end(), position,
                       [](const ReasoningRange& range, size_t at) { return range.end <= at; });
  const bool inside = after != shape.reasoning.end() && after->begin < position;
  return inside ? &*after : nullptr;
}

// PlacementList: several policies, whose placements add up.
class PlacementList final : public PlacementPolicy {
 public:
  explicit PlacementList(std::vector<std::unique_ptr<PlacementPolicy>> policies)
      : policies_(std::move(policies)) {}

  void Place(const PlacementInput& input, std::vector<Placement>* placements) const override {
    for (const auto& policy : policies_) policy->Place(input, placements);
    KeepOutOfReasoning(input.shape, input.cuts, placements);
  }

  void Learn(const Divergence& divergence) override {
    for (const auto& policy : policies_) policy->Learn(divergence);
  }

 private:
  std::vector<std::unique_ptr<PlacementPolicy>> policies_;
};

Result<std::unique_ptr<PlacementPolicy>> MakeOne(std::string_view name,
                                                 const PlacementOptions& options) {
  for (const NamedPlacement& placement : kPlacements) {
    if (placement.policy.name == name) return placement.make(options);
  }
  return Fail(ErrorCode::kInvalidArgument,
              "there is no placement policy named '" + std::string(name) +
                  "'; there are: " + JoinNames(std::views::transform(kPlacements, PlacementName)) +
                  " (several may be joined with commas)");
}

}  // namespace

std::vector<PolicySummary> PlacementSummaries() {
  std::vector<PolicySummary> summaries;
  summaries.reserve(kPlacements.size());
  for (const NamedPlacement& placement : kPlacements) summaries.push_back(placement.policy);
  return summaries;
}

size_t CutFor(const Placement& placement, const PromptCuts& cuts) {
  return placement.checkpoint_class == CheckpointClass::kBranch
             ? cuts.AtOrBefore(placement.position)
             : cuts.ForCheckpoint(placement.position);
}

void KeepOutOfReasoning(const PromptShape& shape, const PromptCuts& cuts,
                        std::vector<Placement>* placements) {
  for (Placement& placement : *placements) {
    size_t position = CutFor(placement, cuts);
    // Rounding may lead into the preceding reasoning.
    while (const ReasoningRange* around = ReasoningAround(shape, position)) {
      position = cuts.AtOrBefore(around->begin);
    }
    placement.position = position;
  }
  std::erase_if(*placements, [&](const Placement& placement) {
    return placement.position == 0 || placement.position > shape.tokens;
  });
}

Result<std::unique_ptr<PlacementPolicy>> MakePlacement(std::string_view names,
                                                       const PlacementOptions& options) {
  std::vector<std::unique_ptr<PlacementPolicy>> policies;
  size_t begin = 0;
  while (begin <= names.size()) {
    const size_t comma = std::min(names.find(',', begin), names.size());
    auto policy = MakeOne(names.substr(begin, comma - begin), options);
    if (!policy) return tl::unexpected(policy.error());
    policies.push_back(std::move(*policy));
    begin = comma + 1;
  }
  return std::make_unique<PlacementList>(std::move(policies));
}

}  // namespace cairn
