// Closest pair: evicts one of the two neighbours that stand closest. The remaining checkpoints are
// spread evenly over each path, so that no resume point is far (mlx-serve #310, llama.cpp #25592;
// ik_llama.cpp's "variance" is closely related). The first and the last of a path stay: the last is
// where the conversation continues, the first spares the most. If no checkpoint lies between them,
// the one unused for longest is evicted.
//
//   0 ------ a ------------ b -- c ------------ d       gaps at b: b - a and c - b
//            |              '----'              |       b or c is evicted: the one that leaves
//            smaller first          closest             last    the smaller gap behind

#include <algorithm>

#include "policy/eviction.h"

namespace cairn {
namespace {

bool Between(const EvictionCandidate& candidate) {
  return candidate.ancestor_position > 0 && candidate.descendant_position > candidate.position;
}

size_t Gap(const EvictionCandidate& candidate) {
  return std::min(candidate.position - candidate.ancestor_position,
                  candidate.descendant_position - candidate.position);
}

size_t Hole(const EvictionCandidate& candidate) {
  return candidate.descendant_position - candidate.ancestor_position;
}

bool Nearer(const EvictionCandidate& a, const EvictionCandidate& b) {
  if (Gap(a) != Gap(b)) return Gap(a) < Gap(b);
  if (Hole(a) != Hole(b)) return Hole(a) < Hole(b);
  return LongerUnused(a, b);
}

class ClosestPairEviction final : public EvictionPolicy {
 public:
  std::vector<size_t> Victims(std::span<const EvictionCandidate> candidates,
                              size_t /*count*/) const override {
    size_t victim = candidates.size();
    for (size_t i = 0; i < candidates.size(); ++i) {
      if (!Between(candidates[i])) continue;
      if (victim == candidates.size() || Nearer(candidates[i], candidates[victim])) victim = i;
    }
    return {victim < candidates.size() ? victim : LongestUnused(candidates)};
  }
};

}  // namespace

std::unique_ptr<EvictionPolicy> MakeClosestPairEviction() {
  return std::make_unique<ClosestPairEviction>();
}

}  // namespace cairn
