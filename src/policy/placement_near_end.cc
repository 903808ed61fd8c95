// Near-end: two checkpoints near the end of every prompt. The next turn repeats the prompt up to
// the end of its last message, but not the generation prompt and the reasoning after it. An edited
// last message repeats the prompt up to a position inside that message; the second checkpoint, a
// ubatch earlier, serves that case. Both were requested by llama.cpp's maintainers (#20288,
// #22929).

#include "policy/placement.h"

namespace cairn {
namespace {

class NearEndPlacement final : public PlacementPolicy {
 public:
  void Place(const PlacementInput& input, std::vector<Placement>* placements) const override {
    const PromptShape& shape = input.shape;
    const size_t end = shape.messages_end > 0 ? shape.messages_end : shape.tokens;
    placements->push_back({end, CheckpointClass::kPrompt});
    if (end > input.chunk_tokens) {
      placements->push_back({end - input.chunk_tokens, CheckpointClass::kLadder});
    }
  }
};

}  // namespace

std::unique_ptr<PlacementPolicy> MakeNearEndPlacement(const PlacementOptions& /*options*/) {
  return std::make_unique<NearEndPlacement>();
}

}  // namespace cairn
