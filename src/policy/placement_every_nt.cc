// Every-nt: a checkpoint every N tokens, independent of the messages: insurance against divergences
// that no boundary predicts. llama-server did this until May 2026 (#20087), and Ollama and
// TensorRT-LLM do. On 710 coding-agent sessions a grid of 8,192 alone gave 93.0 % token hits, where
// the ends of prompts alone gave 95.7 %: it complements them, but does not replace them.

#include "policy/placement.h"

namespace cairn {
namespace {

class EveryNtPlacement final : public PlacementPolicy {
 public:
  explicit EveryNtPlacement(size_t every_tokens) : every_tokens_(every_tokens) {}

  void Place(const PlacementInput& input, std::vector<Placement>* placements) const override {
    if (every_tokens_ == 0) return;
    for (size_t position = every_tokens_; position <= input.shape.tokens;
         position += every_tokens_) {
      placements->push_back({position, CheckpointClass::kInterval});
    }
  }

 private:
  const size_t every_tokens_;
};

}  // namespace

std::unique_ptr<PlacementPolicy> MakeEveryNtPlacement(const PlacementOptions& options) {
  return std::make_unique<EveryNtPlacement>(options.every_nt_tokens);
}

}  // namespace cairn
