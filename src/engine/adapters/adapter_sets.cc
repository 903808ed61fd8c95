#include "engine/adapters/adapter_sets.h"

#include <array>
#include <cmath>
#include <cstdio>
#include <string>
#include <utility>

#include "base/check.h"

namespace cairn {
namespace {

tl::unexpected<Error> Freed() {
  return Fail(ErrorCode::kUnavailable,
              "requests have asked for so many other sets of scales meanwhile that this one is not "
              "kept any more; send the request again");
}

}  // namespace

AdapterSets::AdapterSets(std::vector<Adapter> adapters, AdapterScales start)
    : adapters_(std::move(adapters)) {
  CHECK(start.size() == adapters_.size());
  numbers_.emplace(start, 0);
  sets_.emplace(0, Set{.scales = std::move(start), .held = std::make_shared<const Number>(0)});
}

Result<AdapterSets::Number> AdapterSets::SetOf(AdapterScales scales, Owner owner) {
  CHECK(scales.size() == adapters_.size());
  for (float& scale : scales) {
    if (!std::isfinite(scale)) {
      return Fail(ErrorCode::kInvalidArgument, "the scale of an adapter has to be a finite number");
    }
    if (scale == 0) scale = 0;  // the zero without a sign
  }
  const MutexLock lock(mutex_);
  const auto found = numbers_.find(scales);
  if (found != numbers_.end()) {
    Set& set = sets_.at(found->second);
    set.owner = owner;
    set.asked_tick = ++tick_;
    return found->second;
  }
  if (sets_.size() >= kSetsMax) FreeSome();
  if (sets_.size() >= kSetsMax) {
    return Fail(ErrorCode::kUnavailable,
                "requests use " + std::to_string(kSetsMax) +
                    " sets of scales at this time, and there can be no more; try again later");
  }
  const Number number = last_number_ + 1;
  Set set{scales, owner, ++tick_, std::make_shared<const Number>(number)};
  sets_.emplace(number, std::move(set));
  numbers_.emplace(std::move(scales), number);
  last_number_ = number;
  return number;
}

void AdapterSets::FreeSome() {
  std::map<Owner, size_t> counts;
  for (const auto& [number, set] : sets_) ++counts[set.owner];
  for (size_t i = 0; i < kFreedAtOnce; ++i) {
    const auto next = NextToFree(counts);
    if (next == sets_.end()) return;
    --counts[next->second.owner];
    numbers_.erase(next->second.scales);
    sets_.erase(next);
    ++freed_;
  }
}

// Whoever gets a copy of `held` has the lock, or has one already. So a set without copies gets none
// meanwhile.
std::map<AdapterSets::Number, AdapterSets::Set>::iterator AdapterSets::NextToFree(
    const std::map<Owner, size_t>& counts) {
  auto next = sets_.end();
  size_t most = 0;
  for (auto set = sets_.begin(); set != sets_.end(); ++set) {
    if (set->first == 0 || set->first == standing_ || set->second.held.use_count() > 1) continue;
    const size_t count = counts.at(set->second.owner);
    const bool is_next = next == sets_.end() || count > most ||
                         (count == most && set->second.asked_tick < next->second.asked_tick);
    if (!is_next) continue;
    next = set;
    most = count;
  }
  return next;
}

const AdapterSets::Set* AdapterSets::Find(Number set) const {
  const auto found = sets_.find(set);
  return found == sets_.end() ? nullptr : &found->second;
}

Result<AdapterSets::Held> AdapterSets::Hold(Number set) const {
  const MutexLock lock(mutex_);
  if (const Set* const found = Find(set)) return found->held;
  return Freed();
}

bool AdapterSets::Keeps(Number set) const {
  const MutexLock lock(mutex_);
  return Find(set) != nullptr;
}

Status AdapterSets::SetStanding(Number set) {
  const MutexLock lock(mutex_);
  if (Find(set) == nullptr) return Freed();
  standing_.store(set);
  return {};
}

Result<AdapterScales> AdapterSets::ScalesOf(Number set) const {
  const MutexLock lock(mutex_);
  if (const Set* const found = Find(set)) return found->scales;
  return Freed();
}

Result<std::string> AdapterSets::DigestOf(Number set) const {
  const auto kept = ScalesOf(set);
  if (!kept) return tl::unexpected(kept.error());
  const AdapterScales& scales = *kept;
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
