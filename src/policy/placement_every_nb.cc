// Every-nb: a checkpoint every N batches (`-b`), as llama.cpp #20087 first proposed: a whole number
// of ubatches, so none is cut short for it.

#include "policy/placement.h"

namespace cairn {
namespace {

class EveryNbPlacement final : public PlacementPolicy {
 public:
  explicit EveryNbPlacement(size_t step) : step_(step) {}

  void Place(const PlacementInput& input, std::vector<Placement>* placements) const override {
    if (step_ == 0) return;
    for (size_t position = step_; position <= input.shape.tokens; position += step_) {
      placements->push_back({position, CheckpointClass::kInterval});
    }
  }

 private:
  const size_t step_;  // tokens
};

}  // namespace

std::unique_ptr<PlacementPolicy> MakeEveryNbPlacement(const PlacementOptions& options) {
  return std::make_unique<EveryNbPlacement>(options.every_nb_batches * options.batch_tokens);
}

}  // namespace cairn
