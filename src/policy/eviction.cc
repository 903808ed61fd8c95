#include "policy/eviction.h"

#include <algorithm>
#include <array>
#include <string>

namespace cairn {
namespace {

struct NamedEviction {
  PolicySummary policy;
  std::unique_ptr<EvictionPolicy> (*make)();
};

constexpr std::array<NamedEviction, 6> kEvictions{{
    {{"closest-pair", "one of the two that stand closest on a path"}, MakeClosestPairEviction},
    {{"fifo", "the oldest, used or not"}, MakeFifoEviction},
    {{"lru", "the one not used for the longest time"}, MakeLruEviction},
    {{"marconi", "by recency and what reading it again takes for its bytes"}, MakeMarconiEviction},
    {{"none", "none: what comes when the cache is full is refused"}, MakeNoneEviction},
    {{"value", "the least chance of reuse * tokens to read again / bytes"}, MakeValueEviction},
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

Result<std::unique_ptr<EvictionPolicy>> MakeEviction(std::string_view name) {
  std::string known;
  for (const NamedEviction& eviction : kEvictions) {
    if (eviction.policy.name == name) return eviction.make();
    known += known.empty() ? "" : ", ";
    known += eviction.policy.name;
  }
  return Fail(ErrorCode::kInvalidArgument,
              "there is no eviction policy named '" + std::string(name) + "'; there are: " + known);
}

std::vector<PolicySummary> EvictionSummaries() {
  std::vector<PolicySummary> summaries;
  summaries.reserve(kEvictions.size());
  for (const NamedEviction& eviction : kEvictions) summaries.push_back(eviction.policy);
  return summaries;
}

}  // namespace cairn
