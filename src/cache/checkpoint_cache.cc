#include "cache/checkpoint_cache.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace cairn {
namespace {

// What the minimum step never leaves out: without these the next turn reads everything again.
bool AlwaysKept(const Placement& placement, const std::vector<Placement>& all) {
  switch (placement.checkpoint_class) {
    case CheckpointClass::kPrompt:
    case CheckpointClass::kLadder:
    case CheckpointClass::kMark:
    case CheckpointClass::kQuery:
      return true;
    case CheckpointClass::kTurn:
      return std::none_of(all.begin(), all.end(), [&](const Placement& other) {
        return other.checkpoint_class == CheckpointClass::kTurn &&
               other.position > placement.position;
      });
    default:
      return false;
  }
}

}  // namespace

CheckpointCache::CheckpointCache(const CacheOptions& options,
                                 std::unique_ptr<PlacementPolicy> placement,
                                 std::unique_ptr<EvictionPolicy> eviction,
                                 std::unique_ptr<SnapshotStore> store)
    : options_(options),
      placement_(std::move(placement)),
      eviction_(std::move(eviction)),
      store_(std::move(store)) {}

CheckpointCache::MatchResult CheckpointCache::Match(NamespaceId name_space,
                                                    TokenSpan prompt) const {
  MatchResult result;
  const auto tree = trees_.find(name_space);
  if (tree == trees_.end()) return result;
  const PrefixTree::MatchResult match = tree->second.Match(prompt);
  result.shared = match.shared;
  for (const PrefixTree::Stone& stone : match.stones) {
    result.checkpoints.push_back(EntryOf(stone.value).checkpoint);
  }
  return result;
}

std::vector<Placement> CheckpointCache::Plan(const PromptShape& shape, size_t read_to,
                                             size_t grid_tokens, size_t piece_tokens) const {
  CHECK(grid_tokens > 0);
  std::vector<Placement> wanted;
  placement_->Place({shape, piece_tokens}, &wanted);
  for (Placement& placement : wanted) placement.position -= placement.position % grid_tokens;
  std::erase_if(wanted, [&](const Placement& placement) {
    return placement.position <= read_to || placement.position >= shape.tokens;
  });
  // Where two policies name one place, the first one named it.
  std::stable_sort(wanted.begin(), wanted.end(),
                   [](const Placement& a, const Placement& b) { return a.position < b.position; });
  std::vector<Placement> planned;
  size_t last = read_to;
  for (const Placement& placement : wanted) {
    if (!planned.empty() && planned.back().position == placement.position) continue;
    if (placement.position - last < options_.min_step_tokens && !AlwaysKept(placement, wanted)) {
      continue;
    }
    planned.push_back(placement);
    last = placement.position;
  }
  return planned;
}

bool CheckpointCache::Holds(NamespaceId name_space, TokenSpan prefix, bool on_grid,
                            LineageId lineage) const {
  const auto tree = trees_.find(name_space);
  if (tree == trees_.end()) return false;
  const PrefixTree::Node* node = tree->second.Find(prefix);
  if (node == nullptr) return false;
  const Checkpoint& held = EntryOf(PrefixTree::ValueOf(node)).checkpoint;
  return held.on_grid == on_grid && (on_grid || held.lineage == lineage);
}

Result<CheckpointId> CheckpointCache::Insert(NamespaceId name_space, TokenSpan prefix,
                                             CheckpointClass checkpoint_class, bool on_grid,
                                             LineageId lineage, Bytes snapshot) {
  PrefixTree& tree = trees_[name_space];
  if (const PrefixTree::Node* held = tree.Find(prefix)) {
    const CheckpointId id = PrefixTree::ValueOf(held);
    if (EntryOf(id).pins > 0) return id;
    Drop(id);
  }
  if (!MakeRoom(snapshot.size())) {
    ++stats_.refused;
    return Fail(ErrorCode::kNoSpace, "the snapshot does not fit the cache's budget");
  }
  const CheckpointId id = ++last_id_;
  const size_t bytes = snapshot.size();
  if (Status put = store_->Put(id, std::move(snapshot)); !put) {
    ++stats_.refused;
    return tl::unexpected(put.error());
  }
  Entry entry;
  entry.checkpoint = {id, prefix.size(), checkpoint_class, bytes, on_grid, lineage};
  entry.name_space = name_space;
  entry.node = tree.Put(prefix, id);
  entry.created_tick = entry.used_tick = ++tick_;
  entries_.emplace(id, entry);
  ++stats_.inserted;
  return id;
}

Result<std::span<const uint8_t>> CheckpointCache::Pin(CheckpointId id) {
  const auto found = entries_.find(id);
  if (found == entries_.end()) return Fail(ErrorCode::kNotFound, "the checkpoint was given up");
  auto bytes = store_->Get(id);
  if (!bytes) {
    Drop(id);
    return bytes;
  }
  found->second.used_tick = ++tick_;
  ++found->second.pins;
  return bytes;
}

void CheckpointCache::Unpin(CheckpointId id) {
  const auto found = entries_.find(id);
  CHECK(found != entries_.end());
  CHECK(found->second.pins > 0);
  --found->second.pins;
}

CacheStats CheckpointCache::stats() const {
  CacheStats stats = stats_;
  stats.checkpoints = entries_.size();
  stats.bytes = store_->bytes();
  return stats;
}

const CheckpointCache::Entry& CheckpointCache::EntryOf(CheckpointId id) const {
  const auto found = entries_.find(id);
  CHECK(found != entries_.end());
  return found->second;
}

// Gives up checkpoints until `bytes` more fit. The ones in use are no candidates.
bool CheckpointCache::MakeRoom(size_t bytes) {
  if (bytes > options_.ram_bytes_max) return false;
  while (store_->bytes() + bytes > options_.ram_bytes_max) {
    std::vector<EvictionCandidate> candidates;
    for (const auto& [id, entry] : entries_) {
      if (entry.pins > 0) continue;
      candidates.push_back({id, entry.checkpoint.position, entry.checkpoint.bytes,
                            entry.checkpoint.checkpoint_class, entry.created_tick,
                            entry.used_tick});
    }
    if (candidates.empty()) return false;
    // Hash order differs between machines; decisions must not.
    std::sort(candidates.begin(), candidates.end(),
              [](const auto& a, const auto& b) { return a.id < b.id; });
    const std::optional<size_t> victim = eviction_->Victim(candidates);
    if (!victim) return false;
    Drop(candidates[*victim].id);
    ++stats_.evicted;
  }
  return true;
}

void CheckpointCache::Drop(CheckpointId id) {
  const Entry entry = EntryOf(id);
  CHECK(entry.pins == 0);
  trees_.at(entry.name_space).Erase(entry.node);
  store_->Erase(id);
  entries_.erase(id);
}

void CheckpointCache::CheckInvariants() const {
  size_t values = 0;
  for (const auto& [name_space, tree] : trees_) {
    tree.CheckInvariants();
    values += tree.value_count();
  }
  CHECK(values == entries_.size());
  size_t bytes = 0;
  for (const auto& [id, entry] : entries_) {
    CHECK(PrefixTree::ValueOf(entry.node) == id);
    CHECK(PrefixTree::PositionOf(entry.node) == entry.checkpoint.position);
    bytes += entry.checkpoint.bytes;
  }
  CHECK(bytes == store_->bytes());
  CHECK(bytes <= options_.ram_bytes_max);
}

}  // namespace cairn
