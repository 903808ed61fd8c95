#include "sched/steps/decode_costs.h"

#include <algorithm>

namespace cairn {
namespace {

// Where no larger decode was measured, each further token is taken to cost this share of the
// largest measured one: less than on any backend, so that it is measured.
constexpr double kUntriedShare = 0.02;

// A draft must promise so much more speed than none: less is within what measurements are off by.
constexpr double kLeastGain = 1.03;

// A decode that other work delayed says little, one that was fast says much.
constexpr double kSlowerShare = 0.1;
constexpr double kFasterShare = 0.5;

}  // namespace

void DecodeCosts::Add(size_t tokens, double ms) {
  if (tokens >= costs_.size()) costs_.resize(tokens + 1);
  Cost& cost = costs_[tokens];
  ++cost.count;
  if (cost.count <= 2) {
    cost.ms = ms;
    return;
  }
  cost.ms += (ms - cost.ms) * (ms > cost.ms ? kSlowerShare : kFasterShare);
}

double DecodeCosts::Of(size_t tokens) const {
  size_t below = std::min(tokens, costs_.empty() ? 0 : costs_.size() - 1);
  while (below > 0 && !IsKnown(costs_[below])) --below;
  if (below == tokens && below > 0) return costs_[below].ms;
  size_t above = tokens;
  while (above < costs_.size() && !IsKnown(costs_[above])) ++above;
  const bool has_above = above < costs_.size();
  if (below == 0) return has_above ? costs_[above].ms : 0;
  const double from = costs_[below].ms;
  const auto steps = static_cast<double>(tokens - below);
  if (!has_above) return from * (1 + kUntriedShare * steps);
  return from + (costs_[above].ms - from) * steps / static_cast<double>(above - below);
}

double ExpectedGain(double accepted, size_t tokens) {
  double gain = 0;
  double chance = 1;
  for (size_t i = 0; i < tokens; ++i) {
    chance *= accepted;
    gain += chance;
  }
  return gain;
}

size_t BestDraftLength(const DecodeCosts& costs, const PlannedDecode& decode, double accepted,
                       const DraftCost& draft, size_t tokens_max) {
  const double plain_ms = costs.Of(decode.tokens);
  if (plain_ms <= 0) return 0;
  size_t best = 0;
  double best_speed = kLeastGain * decode.gained / plain_ms;
  double chance = 1;
  double gained = decode.gained;
  for (size_t length = 1; length <= tokens_max; ++length) {
    chance *= accepted;
    gained += chance;
    const double snapshot_ms = length > draft.rollback_tokens ? draft.snapshot_ms : 0;
    const double draft_ms = snapshot_ms + draft.ms_per_token * static_cast<double>(length);
    const double speed = gained / (costs.Of(decode.tokens + length) + draft_ms);
    if (speed <= best_speed) continue;
    best = length;
    best_speed = speed;
  }
  return best;
}

}  // namespace cairn
