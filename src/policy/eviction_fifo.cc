// The oldest, used or not: what llama-server does. Of a long conversation it keeps only the tail,
// and whoever goes further back reads everything again (mlx-serve #310, SGLang #38000, llama.cpp
// #25592). Here to be compared with.

#include <algorithm>

#include "policy/eviction.h"

namespace cairn {
namespace {

bool Older(const EvictionCandidate& a, const EvictionCandidate& b) {
  if (a.created_tick != b.created_tick) return a.created_tick < b.created_tick;
  return a.id < b.id;
}

class FifoEviction final : public EvictionPolicy {
 public:
  std::vector<size_t> Victims(std::span<const EvictionCandidate> candidates,
                              size_t count) const override {
    return FirstIndices(candidates.size(), count,
                        [&](size_t a, size_t b) { return Older(candidates[a], candidates[b]); });
  }
};

}  // namespace

std::unique_ptr<EvictionPolicy> MakeFifoEviction() {
  return std::make_unique<FifoEviction>();
}

}  // namespace cairn
