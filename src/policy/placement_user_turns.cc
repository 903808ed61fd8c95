// User-turns: a checkpoint before every user message, and one after the system prefix: where people
// edit, fork and rewind, and where templates begin to leave old reasoning out.

#include "policy/placement.h"

namespace cairn {
namespace {

class UserTurnsPlacement final : public PlacementPolicy {
 public:
  void Place(const PlacementInput& input, std::vector<Placement>* placements) const override {
    const PromptShape& shape = input.shape;
    if (shape.header_end > 0) {
      placements->push_back({shape.header_end, CheckpointClass::kHeader});
    }
    for (const Turn& turn : shape.turns) {
      if (turn.by_user && turn.position > shape.header_end) {
        placements->push_back({turn.position, CheckpointClass::kTurn});
      }
    }
  }
};

}  // namespace

std::unique_ptr<PlacementPolicy> MakeUserTurnsPlacement(const PlacementOptions& /*options*/) {
  return std::make_unique<UserTurnsPlacement>();
}

}  // namespace cairn
