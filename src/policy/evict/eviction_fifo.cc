// FIFO: evicts the oldest, used or not, as llama-server does. It keeps only the tail of a long
// conversation, so a client that returns further back causes a complete prefill (mlx-serve #310,
// SGLang #38000, llama.cpp #25592). Provided for comparison.

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
