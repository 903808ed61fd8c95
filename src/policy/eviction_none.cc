// Nothing is ever given up: what comes when the budget is full is refused.

#include "policy/eviction.h"

namespace cairn {
namespace {

class NoneEviction final : public EvictionPolicy {
 public:
  std::optional<size_t> Victim(std::span<const EvictionCandidate> /*candidates*/) const override {
    return std::nullopt;
  }
};

}  // namespace

std::unique_ptr<EvictionPolicy> MakeNoneEviction() {
  return std::make_unique<NoneEviction>();
}

}  // namespace cairn
