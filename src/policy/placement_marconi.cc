// Marconi's admission (arXiv 2411.19379, section 4): at most two states per prompt. One is at its
// end; the scheduler takes another one after the answer. One is where the prompt diverges from the
// stored ones, which is known before prefill: a prefix that two prompts share will be shared by a
// third. So a shared prefix pays from its third appearance on.

#include "policy/placement.h"

namespace cairn {
namespace {

class MarconiPlacement final : public PlacementPolicy {
 public:
  void Place(const PlacementInput& input, std::vector<Placement>* placements) const override {
    const PromptShape& shape = input.shape;
    if (input.diverged_at > 0 && input.diverged_at < shape.tokens) {
      placements->push_back({input.diverged_at, CheckpointClass::kBranch});
    }
    if (shape.tokens > 0) placements->push_back({shape.tokens, CheckpointClass::kEnd});
  }
};

}  // namespace

std::unique_ptr<PlacementPolicy> MakeMarconiPlacement(const PlacementOptions& /*options*/) {
  return std::make_unique<MarconiPlacement>();
}

}  // namespace cairn
