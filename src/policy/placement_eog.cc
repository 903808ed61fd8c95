// EOG: a checkpoint after every end-of-generation token, which is where all messages end. Requested
// in llama.cpp #23814: it needs no knowledge of the template, only of the vocabulary.

#include "policy/placement.h"

namespace cairn {
namespace {

class EogPlacement final : public PlacementPolicy {
 public:
  void Place(const PlacementInput& input, std::vector<Placement>* placements) const override {
    for (const size_t position : input.shape.eog_ends) {
      placements->push_back({position, CheckpointClass::kTurn});
    }
  }
};

}  // namespace

std::unique_ptr<PlacementPolicy> MakeEogPlacement(const PlacementOptions& /*options*/) {
  return std::make_unique<EogPlacement>();
}

}  // namespace cairn
