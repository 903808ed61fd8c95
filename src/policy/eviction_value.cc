// Value: the least p(reuse) * tokens to read again / bytes that become free.
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
// The square was chosen by replaying 355 sessions of coding agents (callanjfox/kv-cache-tester),
// one begun every half hour, without a model: placement auto, snapshots of one size. On Mooncake's
// hour of chats (kvcache-ai/Mooncake) nothing was chosen. Hit tokens in percent, with room for so
// many snapshots:
//
//                   agents, 96.3 possible       chats, 37.3 possible
//                     30     100     400          200    1000    4000
//   lru             88.6    94.5    95.8          4.4     9.8    28.2
//   closest-pair    93.8    93.8    94.0         11.2    29.9    34.9
//   marconi         68.9    80.5    91.3         10.6    18.9    28.1
//   value           95.4    96.1    96.2         12.2    30.3    36.0

#include <algorithm>
#include <cmath>

#include "policy/eviction.h"

namespace cairn {
namespace {

// How much likelier than one before a user's message a checkpoint of this class is wanted.
double ClassWeight(CheckpointClass checkpoint_class) {
  switch (checkpoint_class) {
    case CheckpointClass::kHeader:
      return 8;
    case CheckpointClass::kQuery:
    case CheckpointClass::kMark:
    case CheckpointClass::kBranch:
    case CheckpointClass::kPrompt:
    case CheckpointClass::kReply:
      return 4;
    case CheckpointClass::kTurn:
    case CheckpointClass::kEnd:
      return 1;
    case CheckpointClass::kLadder:
      return 0.5;
    case CheckpointClass::kToolTurn:
    case CheckpointClass::kInterval:
      return 0.25;
  }
  return 1;
}

double Value(const EvictionCandidate& candidate, size_t candidates) {
  const double wanted =
      ClassWeight(candidate.checkpoint_class) + std::log2(1 + static_cast<double>(candidate.uses));
  const double rounds = static_cast<double>(candidate.age_ticks) / static_cast<double>(candidates);
  return wanted / ((1 + rounds) * (1 + rounds)) * static_cast<double>(candidate.reread_tokens) /
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
