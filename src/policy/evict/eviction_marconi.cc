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

#include <algorithm>
#include <limits>

#include "policy/eviction.h"

namespace cairn {
namespace {

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

}  // namespace

std::unique_ptr<EvictionPolicy> MakeMarconiEviction() {
  return std::make_unique<MarconiEviction>();
}

}  // namespace cairn
