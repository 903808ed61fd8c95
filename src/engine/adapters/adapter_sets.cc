#include "engine/adapters/adapter_sets.h"

#include <array>
#include <cmath>
#include <cstdio>
#include <utility>

#include "base/check.h"

namespace cairn {

AdapterSets::AdapterSets(std::vector<Adapter> adapters, AdapterScales start)
    : adapters_(std::move(adapters)), sets_({std::move(start)}) {
  CHECK(sets_.front().size() == adapters_.size());
  numbers_.emplace(sets_.front(), 0);
}

Result<AdapterSets::Number> AdapterSets::SetOf(AdapterScales scales, Owner owner) {
  CHECK(scales.size() == adapters_.size());
  for (float& scale : scales) {
    if (!std::isfinite(scale)) {
      return Fail(ErrorCode::kInvalidArgument, "the scale of an adapter has to be a finite number");
    }
    if (scale == 0) scale = 0;  // the zero without a sign
  }
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto found = numbers_.find(scales);
  if (found != numbers_.end()) return found->second;
  if (sets_.size() >= kSetsMax) {
    return Fail(ErrorCode::kUnavailable,
                "requests have asked for " + std::to_string(kSetsMax) +
                    " sets of scales since the start, and there can be no more; use one of those");
  }
  if (sets_.size() >= kSharedSets) {
    Number& own = own_sets_[owner];
    if (own >= kOwnSetsMax) {
      return Fail(ErrorCode::kUnavailable,
                  "this key has asked for so many sets of scales since the start that the others "
                  "are kept for other keys; use one of those");
    }
    ++own;
  }
  const auto number = static_cast<Number>(sets_.size());
  sets_.push_back(scales);
  numbers_.emplace(std::move(scales), number);
  return number;
}

AdapterScales AdapterSets::ScalesOf(Number set) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return sets_.at(set);
}

std::string AdapterSets::DigestOf(Number set) const {
  const AdapterScales scales = ScalesOf(set);
  std::string digest;
  for (size_t i = 0; i < scales.size(); ++i) {
    if (scales[i] == 0) continue;
    std::array<char, 40> scale{};
    std::snprintf(scale.data(), scale.size(), "*%a", static_cast<double>(scales[i]));
    digest += (digest.empty() ? "" : "+") + adapters_[i].digest + scale.data();
  }
  return digest;
}

}  // namespace cairn
