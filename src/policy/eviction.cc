#include "policy/eviction.h"

#include <algorithm>
#include <array>
#include <ranges>
#include <string>

#include "base/join.h"

namespace cairn {
namespace {

struct NamedEviction {
  PolicySummary policy;
  std::unique_ptr<EvictionPolicy> (*make)();
};

constexpr std::array<NamedEviction, 6> kEvictions{{
    {{"closest-pair", "one of the two closest checkpoints of a path"}, MakeClosestPairEviction},
    {{"fifo", "first in, first out"}, MakeFifoEviction},
    {{"lru", "least recently used"}, MakeLruEviction},
    {{"marconi", "by recency and recompute cost per byte"}, MakeMarconiEviction},
    {{"none", "no eviction: a full cache rejects new objects"}, MakeNoneEviction},
    {{"value", "lowest probability of reuse * tokens to recompute / bytes"}, MakeValueEviction},
}};

std::string_view EvictionName(const NamedEviction& eviction) {
  return eviction.policy.name;
}

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
  for (const NamedEviction& eviction : kEvictions) {
    if (eviction.policy.name == name) return eviction.make();
  }
  return Fail(ErrorCode::kInvalidArgument,
              "there is no eviction policy named '" + std::string(name) +
                  "'; there are: " + JoinNames(std::views::transform(kEvictions, EvictionName)));
}

std::vector<PolicySummary> EvictionSummaries() {
  std::vector<PolicySummary> summaries;
  summaries.reserve(kEvictions.size());
  for (const NamedEviction& eviction : kEvictions) summaries.push_back(eviction.policy);
  return summaries;
}

}  // namespace cairn
