#include "policy/eviction.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <string>

namespace cairn {
namespace {

// Closest pair: evicts one of the two neighbours that stand closest. The remaining checkpoints are
// spread evenly over each path, so that no resume point is far (mlx-serve #310, llama.cpp #25592;
// ik_llama.cpp's "variance" is closely related). The first and the last of a path stay: the last is
// where the conversation continues, the first spares the most. If no checkpoint lies between them,
// the one unused for longest is evicted.
//
//   0 ------ a ------------ b -- c ------------ d       gaps at b: b - a and c - b
//            |              '----'              |       b or c is evicted: the one that leaves
//            smaller first          closest             last    the smaller gap behind

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

// FIFO: evicts the oldest, used or not, as llama-server does. It keeps only the tail of a long
// conversation, so a client that returns further back causes a complete prefill (mlx-serve #310,
// SGLang #38000, llama.cpp #25592). Provided for comparison.

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

// LRU: evicts the checkpoint that was unused for longest. Only the checkpoint that a prompt resumed
// from counts as used, not those before it on its path: refreshing them all keeps checkpoints that
// no prompt returns to (SGLang #31643: hit rate 0.61 -> 0.83 from this alone).
class LruEviction final : public EvictionPolicy {
 public:
  std::vector<size_t> Victims(std::span<const EvictionCandidate> candidates,
                              size_t count) const override {
    return FirstIndices(candidates.size(), count, [&](size_t a, size_t b) {
      return LongerUnused(candidates[a], candidates[b]);
    });
  }
};

// Marconi's eviction (arXiv 2411.19379, section 4.3): evicts the candidate with the least
//
//   S = recency + alpha * efficiency
//   recency    = 1 / (1 + ticks since the last use)       both scaled to [0, 1] over the
//   efficiency = FLOPs to recompute it / bytes            candidates
//
// Branching points are spared as long as there are other candidates: Marconi's candidates have at
// most one child. Here the tokens to recompute stand for the FLOPs, to which they are proportional
// except for attention's quadratic part. The paper tunes alpha by replaying past requests; ours is
// fixed.

constexpr double kAlpha = 1;

bool IsBranchingPoint(const EvictionCandidate& candidate) {
  return candidate.branches > 1;
}

double Recency(const EvictionCandidate& candidate) {
  return 1 / (1 + static_cast<double>(candidate.age_ticks));
}

double Efficiency(const EvictionCandidate& candidate) {
  return static_cast<double>(candidate.recompute_tokens) /
         static_cast<double>(std::max<size_t>(candidate.bytes, 1));
}

class Range {
 public:
  void Include(double value) {
    least_ = std::min(least_, value);
    most_ = std::max(most_, value);
  }
  double Scaled(double value) const {
    return most_ > least_ ? (value - least_) / (most_ - least_) : 0;
  }

 private:
  double least_ = std::numeric_limits<double>::infinity();
  double most_ = -std::numeric_limits<double>::infinity();
};

class MarconiEviction final : public EvictionPolicy {
 public:
  std::vector<size_t> Victims(std::span<const EvictionCandidate> candidates,
                              size_t /*count*/) const override {
    const bool only_branching = std::all_of(candidates.begin(), candidates.end(), IsBranchingPoint);
    Range recency;
    Range efficiency;
    for (const EvictionCandidate& candidate : candidates) {
      if (!only_branching && IsBranchingPoint(candidate)) continue;
      recency.Include(Recency(candidate));
      efficiency.Include(Efficiency(candidate));
    }
    size_t victim = candidates.size();
    double least = 0;
    for (size_t i = 0; i < candidates.size(); ++i) {
      const EvictionCandidate& candidate = candidates[i];
      if (!only_branching && IsBranchingPoint(candidate)) continue;
      const double score =
          recency.Scaled(Recency(candidate)) + kAlpha * efficiency.Scaled(Efficiency(candidate));
      const bool first = victim == candidates.size();
      if (first || score < least ||
          (score == least && LongerUnused(candidate, candidates[victim]))) {
        victim = i;
        least = score;
      }
    }
    return {victim};
  }
};

// None: evicts nothing. New objects are refused when the budget is full.
class NoneEviction final : public EvictionPolicy {
 public:
  std::vector<size_t> Victims(std::span<const EvictionCandidate> /*candidates*/,
                              size_t /*count*/) const override {
    return {};
  }
};

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

template <typename Policy>
std::unique_ptr<EvictionPolicy> NewEviction() {
  return std::make_unique<Policy>();
}

struct NamedEviction {
  PolicySummary policy;
  std::unique_ptr<EvictionPolicy> (*make)();
};

constexpr std::array<NamedEviction, 6> kEvictions{{
    {{"closest-pair", "one of the two closest checkpoints of a path"},
     NewEviction<ClosestPairEviction>},
    {{"fifo", "first in, first out"}, NewEviction<FifoEviction>},
    {{"lru", "least recently used"}, NewEviction<LruEviction>},
    {{"marconi", "by recency and recompute cost per byte"}, NewEviction<MarconiEviction>},
    {{"none", "no eviction: a full cache rejects new objects"}, NewEviction<NoneEviction>},
    {{"value", "lowest probability of reuse * tokens to recompute / bytes"},
     NewEviction<ValueEviction>},
}};

}  // namespace

bool LongerUnused(const EvictionCandidate& a, const EvictionCandidate& b) {
  if (a.used_tick != b.used_tick) return a.used_tick < b.used_tick;
  return a.id < b.id;
}

size_t LongestUnused(std::span<const EvictionCandidate> candidates) {
  const auto victim = std::min_element(candidates.begin(), candidates.end(), LongerUnused);
  return static_cast<size_t>(victim - candidates.begin());
}

std::optional<size_t> EvictionPolicy::Victim(std::span<const EvictionCandidate> candidates) const {
  const std::vector<size_t> victims = Victims(candidates, 1);
  return victims.empty() ? std::nullopt : std::optional<size_t>(victims.front());
}

Result<std::unique_ptr<EvictionPolicy>> MakeEviction(std::string_view name) {
  const auto* const found = FindPolicy(kEvictions, name);
  if (found == nullptr)
    return tl::unexpected(NoSuchPolicy("eviction policy", name, SummariesOf(kEvictions)));
  return found->make();
}

std::vector<PolicySummary> EvictionSummaries() {
  return SummariesOf(kEvictions);
}

}  // namespace cairn
