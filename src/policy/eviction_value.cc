// Value: what leads nowhere first, then what a slot holds too, then the least
// p(reuse) * tokens to read again / bytes that become free.
//
//   p(reuse) ~ (class weight + log2(1 + uses)) / (1 + age / candidates)^2
//
// What a checkpoint is there for says how likely it is wanted before anyone has wanted it. The end
// of a prompt is wanted by the next one (93 of 100 on the coding agents' sessions of
// docs/policies.md) and hardly ever once that has come by (2 of 1,000), so then it counts as an
// interval does, that is, as what is fallen back on. Of what is not an end, each use adds to the
// chance, with less and less effect, so that yesterday's favourite can still go. Age is in ticks,
// and a busy cache ticks faster: so it is measured in rounds of all candidates. The tokens are
// those from the nearest ancestor that stays, so that of two near ones the first to go is cheap and
// the second is not. Kin: ds4's (hits * 2^(-age / 6 h) + base) * tokens / bytes, and
// GreedyDual-Size-Frequency.

#include <algorithm>
#include <cmath>

#include "policy/eviction.h"

namespace cairn {
namespace {

constexpr double kEnd = 4;
constexpr double kLastQuery =
    0.5;  // an end that was passed, but where the next query comes back to
constexpr double kFallback = 0.1;

double AfterUses(double weight, uint64_t uses) {
  return weight + std::log2(1 + static_cast<double>(uses));
}

// How much likelier than one before a user's message it is wanted.
double Weight(const EvictionCandidate& candidate) {
  switch (candidate.checkpoint_class) {
    case CheckpointClass::kPrompt:
    case CheckpointClass::kQuery:
    case CheckpointClass::kReply:
      if (!candidate.passed) return AfterUses(kEnd, candidate.uses);
      return candidate.last_query ? kLastQuery : kFallback;
    case CheckpointClass::kHeader:
      return AfterUses(8, candidate.uses);
    case CheckpointClass::kMark:
    case CheckpointClass::kBranch:
      return AfterUses(4, candidate.uses);
    case CheckpointClass::kTurn:
    case CheckpointClass::kEnd:
      return AfterUses(1, candidate.uses);
    case CheckpointClass::kToolTurn:
    case CheckpointClass::kInterval:
      return AfterUses(0.5, candidate.uses);
    case CheckpointClass::kLadder:
      return AfterUses(0.25, candidate.uses);
  }
  return 1;
}

// Of reading the same: copying attention KV once more when its slot lets go. Less than anything
// else that leads somewhere.
constexpr double kCopyShare = 1e-6;

double Value(const EvictionCandidate& candidate, size_t candidates) {
  if (candidate.leads_nowhere) return 0;
  const double cost =
      static_cast<double>(candidate.reread_tokens) * (candidate.in_slot ? kCopyShare : 1);
  const double rounds = static_cast<double>(candidate.age_ticks) / static_cast<double>(candidates);
  return Weight(candidate) / ((1 + rounds) * (1 + rounds)) * cost /
         static_cast<double>(std::max<size_t>(candidate.bytes, 1));
}

class ValueEviction final : public EvictionPolicy {
 public:
  std::optional<size_t> Victim(std::span<const EvictionCandidate> candidates) const override {
    size_t victim = 0;
    double least = Value(candidates[0], candidates.size());
    for (size_t i = 1; i < candidates.size(); ++i) {
      const double value = Value(candidates[i], candidates.size());
      if (value < least || (value == least && LongerUnused(candidates[i], candidates[victim]))) {
        victim = i;
        least = value;
      }
    }
    return victim;
  }
};

}  // namespace

std::unique_ptr<EvictionPolicy> MakeValueEviction() {
  return std::make_unique<ValueEviction>();
}

}  // namespace cairn
