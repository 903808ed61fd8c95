// None: evicts nothing. New objects are refused when the budget is full.

#include "policy/eviction.h"

namespace cairn {
namespace {

class NoneEviction final : public EvictionPolicy {
 public:
  std::vector<size_t> Victims(std::span<const EvictionCandidate> /*candidates*/,
                              size_t /*count*/) const override {
    return {};
  }
};

}  // namespace

std::unique_ptr<EvictionPolicy> MakeNoneEviction() {
  return std::make_unique<NoneEviction>();
}

}  // namespace cairn
