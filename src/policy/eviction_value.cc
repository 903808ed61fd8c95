// Value: what leads nowhere first, then what a slot holds too, then the least
// p(reuse) * tokens to read again / bytes that become free.
//
//   p(reuse) ~ (class weight + log2(1 + uses)) / (1 + age / candidates)^2
//
// What a checkpoint is there for says how likely it is wanted before anyone has wanted it; each use
// adds to that, with less and less effect, so that yesterday's favourite can still go. Age is in
// ticks, and a busy cache ticks faster: so it is measured in rounds of all candidates. The tokens
// are those from the nearest ancestor that stays, so that of two near ones the first to go is cheap
// and the second is not. Kin: ds4's (hits * 2^(-age / 6 h) + base) * tokens / bytes, and
// GreedyDual-Size-Frequency.
//
// The square and the weights were chosen on coding agents' sessions; what replays with budgets say
// of them, and of others, is in docs/policies.md.

#include <algorithm>
#include <cmath>

#include "policy/eviction.h"

namespace cairn {
namespace {

// Of reading the same: copying attention KV once more when its slot lets go. Less than anything
// else that leads somewhere.
constexpr double kCopyShare = 1e-6;

double Value(const EvictionCandidate& candidate, size_t candidates) {
  if (candidate.leads_nowhere) return 0;
  const double cost =
      static_cast<double>(candidate.reread_tokens) * (candidate.in_slot ? kCopyShare : 1);
  const double wanted =
      ClassWeight(candidate.checkpoint_class) + std::log2(1 + static_cast<double>(candidate.uses));
  const double rounds = static_cast<double>(candidate.age_ticks) / static_cast<double>(candidates);
  return wanted / ((1 + rounds) * (1 + rounds)) * cost /
         static_cast<double>(std::max<size_t>(candidate.bytes, 1));
}

class ValueEviction final : public EvictionPolicy {
 public:
  std::vector<size_t> Victims(std::span<const EvictionCandidate> candidates,
                              size_t count) const override {
    std::vector<double> values;
    values.reserve(candidates.size());
    for (const EvictionCandidate& one : candidates) values.push_back(Value(one, candidates.size()));
    return FirstIndices(candidates.size(), count, [&](size_t a, size_t b) {
      if (values[a] != values[b]) return values[a] < values[b];
      return LongerUnused(candidates[a], candidates[b]);
    });
  }
};

}  // namespace

std::unique_ptr<EvictionPolicy> MakeValueEviction() {
  return std::make_unique<ValueEviction>();
}

}  // namespace cairn
