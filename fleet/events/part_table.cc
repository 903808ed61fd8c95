#include "fleet/events/part_table.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/check.h"

namespace cairn {

void PartTable::Apply(const PrefixChange& change) {
  switch (change.kind) {
    case PrefixChange::Kind::kPut:
      return Put(change);
    case PrefixChange::Kind::kMoved: {
      const auto found = parts_.find(change.part);
      CHECK(found != parts_.end());
      found->second.own = change.tier;
      return SettleTier(change.part);
    }
    case PrefixChange::Kind::kGone:
      return Remove(change.part);
  }
}

void PartTable::Put(const PrefixChange& change) {
  BlockTree::End from;
  PrefixTier tier = change.tier;
  if (change.base != 0) {
    const auto base = parts_.find(change.base);
    CHECK(base != parts_.end());
    from = BlockTree::CutTo(base->second.end, change.begin);
    if (change.needs_base) {
      CHECK(change.base != change.part);
      tier = std::max(tier, base->second.tier);
      base->second.needed_by.insert(change.part);
    }
  }
  Part& part = parts_[change.part];
  const bool moves_base = part.base != 0 && part.base == change.base && change.needs_base;
  Part before = std::exchange(part, {});
  if (moves_base) before.base = 0;  // the base goes on being needed
  part.end = tree_->Extend(std::move(from), change.tokens);
  part.own = change.tier;
  part.tier = tier;
  part.resumable = change.resumable;
  part.base = change.needs_base ? change.base : 0;
  part.needed_by = before.needed_by;
  if (part.resumable) tree_->AddReach(part.end, part.tier);
  Leave(change.part, before);
  for (const uint64_t other :
       std::vector<uint64_t>(before.needed_by.begin(), before.needed_by.end())) {
    SettleTier(other);
  }
}

void PartTable::Leave(uint64_t id, const Part& part) {
  if (part.resumable) tree_->RemoveReach(part.end, part.tier);
  tree_->Release(part.end);
  if (part.base != 0) parts_.at(part.base).needed_by.erase(id);
}

void PartTable::Remove(uint64_t id) {
  const auto found = parts_.find(id);
  CHECK(found != parts_.end() && found->second.needed_by.empty());
  const Part part = std::move(found->second);
  parts_.erase(found);
  Leave(id, part);
}

void PartTable::SettleTier(uint64_t id) {
  std::vector<uint64_t> to_do = {id};
  while (!to_do.empty()) {
    Part& part = parts_.at(to_do.back());
    to_do.pop_back();
    const PrefixTier tier =
        part.base == 0 ? part.own : std::max(part.own, parts_.at(part.base).tier);
    if (tier == part.tier) continue;
    if (part.resumable) {
      tree_->AddReach(part.end, tier);
      tree_->RemoveReach(part.end, part.tier);
    }
    part.tier = tier;
    to_do.insert(to_do.end(), part.needed_by.begin(), part.needed_by.end());
  }
}

}  // namespace cairn
