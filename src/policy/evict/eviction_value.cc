// Value: evicts unreachable objects first, then those that a slot holds too, then the one with the
// least p(reuse) * tokens to recompute / bytes freed.
//
//   p(reuse) ~ (class weight + log2(1 + uses)) / (1 + age / candidates)^2
//
// The class of a checkpoint gives its likelihood of reuse before its first use. Each use adds to
// that, with diminishing effect, so that yesterday's favourite can still be evicted. Age is in
// ticks, and a busy cache ticks faster, so it is measured in rounds of all candidates. The tokens
// are those after the nearest ancestor that stays, so that of two close checkpoints the first to be
// evicted is cheap and the second is not. Related: ds4's (hits * 2^(-age / 6 h) + base) * tokens /
// bytes, and GreedyDual-Size-Frequency.
//
// A conversation that goes on passes the checkpoints of its earlier prompts, which weigh less from
// then on. When one is evicted, its prompts resume from the one before it, which takes over its
// class and its age (cache/disk/evictor.h).
//
// The square and the weights were chosen on coding agents' sessions; docs/policies.md has the
// results of replays with several budgets, for them and for others.

#include <algorithm>
#include <cmath>

#include "policy/eviction.h"

namespace cairn {
namespace {

// The cost of copying attention KV once more when its slot is offloaded, as a share of recomputing
// it. Lower than that of any other reachable object.
constexpr double kCopyShare = 1e-6;

// Where a conversation has gone on, fewer prompts go back than go on, so a checkpoint that only
// they need counts for half of one at the end, and the use by its next prompt says nothing. With
// less than half, a long conversation keeps too few of them to go back to. A system prefix is
// shared, and a mark is the client's wish.
constexpr double kPassedWeight = 2;

double Wanted(const EvictionCandidate& candidate) {
  double weight = ClassWeight(candidate.checkpoint_class);
  auto uses = static_cast<double>(candidate.uses);
  const bool shared = candidate.checkpoint_class == CheckpointClass::kHeader ||
                      candidate.checkpoint_class == CheckpointClass::kMark;
  if (candidate.passed && !shared) {
    weight = std::min(weight, kPassedWeight);
    uses = std::max(uses - 1, 0.0);
  }
  // Most have no use, and a logarithm would take longer than all the rest.
  return uses == 0 ? weight : weight + std::log2(1 + uses);
}

double Value(const EvictionCandidate& candidate, size_t candidates) {
  if (candidate.leads_nowhere) return 0;
  const double cost =
      static_cast<double>(candidate.recompute_tokens) * (candidate.in_slot ? kCopyShare : 1);
  const double rounds = static_cast<double>(candidate.age_ticks) / static_cast<double>(candidates);
  return Wanted(candidate) / ((1 + rounds) * (1 + rounds)) * cost /
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
