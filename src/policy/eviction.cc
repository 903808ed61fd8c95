#include "policy/eviction.h"

#include <algorithm>
#include <array>
#include <string>

namespace cairn {
namespace {

struct NamedEviction {
  std::string_view name;
  std::unique_ptr<EvictionPolicy> (*make)();
};

constexpr std::array<NamedEviction, 6> kEvictions{{
    {"closest-pair", MakeClosestPairEviction},
    {"fifo", MakeFifoEviction},
    {"lru", MakeLruEviction},
    {"marconi", MakeMarconiEviction},
    {"none", MakeNoneEviction},
    {"value", MakeValueEviction},
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
    if (eviction.name == name) return eviction.make();
    known += known.empty() ? "" : ", ";
    known += eviction.name;
  }
  return Fail(ErrorCode::kInvalidArgument,
              "there is no eviction policy named '" + std::string(name) + "'; there are: " + known);
}

}  // namespace cairn
