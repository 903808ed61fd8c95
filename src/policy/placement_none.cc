// None: takes no checkpoints. The baseline of every other policy.

#include "policy/placement.h"

namespace cairn {
namespace {

class NonePlacement final : public PlacementPolicy {
 public:
  void Place(const PlacementInput& /*input*/,
             std::vector<Placement>* /*placements*/) const override {}
};

}  // namespace

std::unique_ptr<PlacementPolicy> MakeNonePlacement(const PlacementOptions& /*options*/) {
  return std::make_unique<NonePlacement>();
}

}  // namespace cairn
