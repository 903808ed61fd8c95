#include "cache/objects/eviction_ranking.h"

#include <algorithm>
#include <unordered_set>
#include <utility>

namespace cairn {
namespace {

constexpr size_t kSegmentShare = 16;
constexpr size_t kSegmentTokensMin = 256;

// The objects of a conversation, and the tick at which it was last stored or prompted before its
// present prompt; 0 if that is unknown.
struct Path {
  std::unordered_set<uint64_t> ids;
  uint64_t since_tick = 0;
};

Path PathOf(const ObjectTable& table, NamespaceId name_space, TokenSpan tokens) {
  Path path;
  const auto hits = table.tree().Match(name_space, tokens).hits;
  size_t turns = 0;
  for (const PrefixTree::Hit& hit : hits) {
    path.ids.insert(hit.value);
    turns = std::max(turns, table.EntryOf(hit.value).checkpoint.turns);
  }
  for (const PrefixTree::Hit& hit : hits) {
    const CheckpointEntry& entry = table.EntryOf(hit.value);
    const size_t own_turns = entry.checkpoint.turns;
    if (own_turns == 0 || own_turns == turns) continue;
    path.since_tick = std::max(path.since_tick, entry.created_tick);
  }
  for (const SegmentIndex::Link& link : table.segments().PathAlong(name_space, tokens)) {
    path.ids.insert(link.id);
    path.since_tick = std::max(path.since_tick, table.segments().Get(link.id).created_tick);
  }
  return path;
}

// Whether nothing would miss the object at once.
bool IsUnused(const CheckpointEntry& entry) {
  return entry.pins == 0;
}

bool IsUnused(const SegmentIndex::Segment& segment) {
  return segment.pins == 0 && segment.children == 0;
}

bool IsUnused(const FullState& whole) {
  return whole.pins == 0;
}

}  // namespace

size_t RoomForConversation(const ObjectTable& table, size_t budget_bytes, NamespaceId name_space,
                           TokenSpan tokens, size_t wanted_bytes) {
  const auto beside = [budget_bytes](size_t bytes) {
    return std::max(budget_bytes / 2, budget_bytes - std::min(budget_bytes, bytes));
  };
  if (wanted_bytes <= beside(table.HeldBytes())) return wanted_bytes;
  const Path path = PathOf(table, name_space, tokens);
  size_t others = 0;
  const auto count = [&](uint64_t id, uint64_t used_tick, size_t bytes) {
    if (used_tick < path.since_tick || path.ids.contains(id) || !table.InMemory(id)) return;
    others += bytes;
  };
  for (const auto& [id, entry] : table.entries()) {
    count(id, entry.used_tick, entry.checkpoint.bytes);
  }
  for (const auto& [id, segment] : table.segments().segments()) {
    count(id, segment.used_tick, segment.bytes);
  }
  return std::min(wanted_bytes, beside(others));
}

size_t SegmentTokensMax(const ObjectTable& table, size_t budget_bytes, size_t tokens_max) {
  const size_t bytes_per_token = std::max<size_t>(table.slots().kv_bytes_per_token, 1);
  const size_t most = std::max(budget_bytes / kSegmentShare / bytes_per_token, kSegmentTokensMin);
  while (tokens_max > most) tokens_max /= 2;
  return tokens_max;
}

void EvictionRanking::Find(const SlotParts& in_slots, const Protection& protection,
                           std::vector<EvictionCandidate>* candidates) const {
  candidates->clear();
  std::vector<const CheckpointEntry*> protectable;
  for (const auto& [id, entry] : table_->entries()) {
    if (Protectable(entry, in_slots)) protectable.push_back(&entry);
    if (!IsUnused(entry) || !table_->MayDrop(id)) continue;
    Describe(entry, &candidates->emplace_back());
    candidates->back().leads_nowhere = IsUnreachable(entry, in_slots);
  }
  const std::vector<CheckpointId> kept = Protected(std::move(protectable), protection);
  if (!kept.empty()) {
    std::erase_if(*candidates, [&kept](const EvictionCandidate& candidate) {
      return std::binary_search(kept.begin(), kept.end(), candidate.id);
    });
  }
  for (const auto& [id, segment] : table_->segments().segments()) {
    if (!IsUnused(segment) || !table_->MayDrop(id)) continue;
    candidates->push_back(CandidateOf(segment, in_slots));
  }
  for (const auto& [id, whole] : table_->full_states().full_states()) {
    if (!IsUnused(whole) || !table_->MayDrop(id)) continue;
    candidates->push_back(CandidateOf(whole));
  }
}

void EvictionRanking::FindSaved(const SlotParts& in_slots,
                                std::vector<EvictionCandidate>* candidates) const {
  for (const auto& [id, entry] : table_->entries()) {
    if (!IsUnused(entry) || !IsSaved(id) || table_->IsKept(entry)) continue;
    Describe(entry, &candidates->emplace_back());
    candidates->back().leads_nowhere = IsUnreachable(entry, in_slots);
  }
  for (const auto& [id, segment] : table_->segments().segments()) {
    if (IsUnused(segment) && IsSaved(id)) candidates->push_back(CandidateOf(segment, in_slots));
  }
  for (const auto& [id, whole] : table_->full_states().full_states()) {
    if (IsUnused(whole) && IsSaved(id)) candidates->push_back(CandidateOf(whole));
  }
}

bool EvictionRanking::IsSaved(uint64_t id) const {
  const SnapshotStore::Place place = table_->store().PlaceOf(id);
  return place == SnapshotStore::Place::kBoth || place == SnapshotStore::Place::kSavedOnly;
}

bool EvictionRanking::IsUnreachable(const CheckpointEntry& entry, const SlotParts& in_slots) const {
  return table_->slots().snapshots_need_kv && entry.holder == 0 &&
         !in_slots.contains(entry.checkpoint.id);
}

bool EvictionRanking::IsAsRanked(const EvictionCandidate& candidate,
                                 const SlotParts& in_slots) const {
  switch (candidate.kind) {
    case CandidateKind::kSnapshot: {
      const auto found = table_->entries().find(candidate.id);
      return found != table_->entries().end() && IsUnused(found->second) &&
             IsUnreachable(found->second, in_slots) == candidate.leads_nowhere &&
             CandidateOf(found->second).ancestor_position == candidate.ancestor_position;
    }
    case CandidateKind::kSegment: {
      const auto found = table_->segments().segments().find(candidate.id);
      return found != table_->segments().segments().end() && IsUnused(found->second) &&
             CandidateOf(found->second, in_slots).recompute_tokens == candidate.recompute_tokens;
    }
    case CandidateKind::kFullState:
      return table_->full_states().Holds(candidate.id) &&
             IsUnused(table_->full_states().full_states().at(candidate.id));
  }
  return false;
}

EvictionCandidate EvictionRanking::CandidateOf(const CheckpointEntry& entry) const {
  EvictionCandidate candidate;
  Describe(entry, &candidate);
  return candidate;
}

void EvictionRanking::Describe(const CheckpointEntry& entry, EvictionCandidate* described) const {
  const Checkpoint& checkpoint = entry.checkpoint;
  const PrefixTree::Node* above = PrefixTree::AncestorOf(entry.node);
  const PrefixTree::Node* below = PrefixTree::DescendantOf(entry.node);
  EvictionCandidate& candidate = *described;
  candidate.id = checkpoint.id;
  candidate.position = checkpoint.position;
  candidate.bytes = checkpoint.bytes + PrefixTree::BytesFreedBy(entry.node);
  candidate.checkpoint_class = entry.role;
  candidate.passed = entry.passed;
  candidate.created_tick = entry.created_tick;
  candidate.used_tick = entry.used_tick;
  candidate.age_ticks = table_->tick() - entry.used_tick;
  candidate.uses = entry.uses;
  candidate.ancestor_position = above == nullptr ? 0 : PrefixTree::PositionOf(above);
  candidate.descendant_position = below == nullptr ? 0 : PrefixTree::PositionOf(below);
  candidate.recompute_tokens = checkpoint.position - candidate.ancestor_position;
  candidate.branches = PrefixTree::BranchesOf(entry.node);
}

// Evicting a segment also evicts the checkpoints in it, and to recompute them, prefill begins at
// the checkpoint before them. The segments in between are then worth nothing, and free their bytes
// too.
EvictionCandidate EvictionRanking::CandidateOf(const SegmentIndex::Segment& segment,
                                               const SlotParts& in_slots) const {
  EvictionCandidate candidate;
  candidate.kind = CandidateKind::kSegment;
  candidate.id = segment.id;
  candidate.position = segment.range.end;
  candidate.bytes = segment.bytes + SegmentIndex::TokenBytesFreedBy(segment);
  // Without a checkpoint it serves to resume the end of a conversation, as a snapshot after an
  // answer does.
  candidate.checkpoint_class = CheckpointClass::kReply;
  candidate.created_tick = segment.created_tick;
  candidate.used_tick = segment.used_tick;
  candidate.uses = segment.uses;
  candidate.ancestor_position = segment.range.begin;
  const bool needs_snapshots = table_->slots().needs_snapshots;
  const auto [shallowest, deepest] = CheckpointsOf(segment);
  for (const CheckpointId id : segment.checkpoints) {
    if (!in_slots.contains(id)) candidate.bytes += table_->EntryOf(id).checkpoint.bytes;
  }
  size_t begin = segment.range.begin;
  // While a conversation leaves its slot, the KV that its checkpoints need is still to come.
  const bool alone = !needs_snapshots || in_slots.IsLeaving(segment.id);
  size_t end = alone ? segment.range.end : segment.range.begin;
  if (deepest != nullptr) {
    end = std::max(end, deepest->checkpoint.position);
    if (!in_slots.IsLeaving(segment.id)) candidate.checkpoint_class = deepest->role;
    candidate.used_tick = std::max(candidate.used_tick, deepest->used_tick);
    candidate.uses = deepest->uses;
  }
  if (needs_snapshots && shallowest != nullptr) {
    const PrefixTree::Node* above = PrefixTree::AncestorOf(shallowest->node);
    begin = std::min(begin, above == nullptr ? 0 : PrefixTree::PositionOf(above));
    candidate.bytes += BytesServing(segment, in_slots);
  }
  candidate.age_ticks = table_->tick() - candidate.used_tick;
  // The part that a slot holds needs no prefill now, and is copied again when the slot loses it.
  const size_t in_slot_to = in_slots.EndOf(segment.id);
  candidate.in_slot = in_slot_to > segment.range.begin && in_slot_to >= end;
  candidate.recompute_tokens = end - (candidate.in_slot ? begin : std::max(begin, in_slot_to));
  candidate.leads_nowhere = candidate.recompute_tokens == 0 && !candidate.in_slot;
  return candidate;
}

std::pair<const CheckpointEntry*, const CheckpointEntry*> EvictionRanking::CheckpointsOf(
    const SegmentIndex::Segment& segment) const {
  const CheckpointEntry* shallowest = nullptr;
  const CheckpointEntry* deepest = nullptr;
  for (const CheckpointId id : segment.checkpoints) {
    const CheckpointEntry& entry = table_->EntryOf(id);
    const size_t position = entry.checkpoint.position;
    if (shallowest == nullptr || position < shallowest->checkpoint.position) shallowest = &entry;
    if (deepest == nullptr || position > deepest->checkpoint.position) deepest = &entry;
  }
  return {shallowest, deepest};
}

size_t EvictionRanking::BytesServing(const SegmentIndex::Segment& segment,
                                     const SlotParts& in_slots) const {
  size_t bytes = 0;
  for (SegmentId id = segment.parent; id != 0;) {
    const SegmentIndex::Segment& parent = table_->segments().Get(id);
    if (parent.children > 1 || !parent.checkpoints.empty() || in_slots.contains(id)) break;
    bytes += parent.bytes;
    id = parent.parent;
  }
  return bytes;
}

EvictionCandidate EvictionRanking::CandidateOf(const FullState& whole) const {
  EvictionCandidate candidate;
  candidate.kind = CandidateKind::kFullState;
  candidate.id = whole.id;
  candidate.position = whole.tokens.size();
  candidate.bytes = whole.bytes;
  candidate.checkpoint_class = CheckpointClass::kReply;
  candidate.created_tick = whole.created_tick;
  candidate.used_tick = whole.used_tick;
  candidate.age_ticks = table_->tick() - whole.used_tick;
  candidate.uses = whole.uses;
  candidate.recompute_tokens = whole.tokens.size();
  return candidate;
}

bool EvictionRanking::Protectable(const CheckpointEntry& entry, const SlotParts& in_slots) const {
  if (table_->IsKept(entry)) return true;
  const CheckpointClass checkpoint_class = entry.checkpoint.checkpoint_class;
  const bool is_wanted =
      (checkpoint_class == CheckpointClass::kHeader && PrefixTree::BranchesOf(entry.node) > 0) ||
      (checkpoint_class == CheckpointClass::kQuery && entry.last_query);
  // For conversations that have left the slots, the `value` policy knows best. If protected, they
  // would fill half the budget with the ends of yesterday's queries.
  return is_wanted && (!table_->slots().held || in_slots.contains(entry.checkpoint.id));
}

std::vector<CheckpointId> EvictionRanking::Protected(std::vector<const CheckpointEntry*> wanted,
                                                     const Protection& protection) const {
  std::sort(wanted.begin(), wanted.end(),
            [this](const CheckpointEntry* a, const CheckpointEntry* b) {
              // A client's request to keep a checkpoint comes before our own protection.
              if (table_->IsKept(*a) != table_->IsKept(*b)) return table_->IsKept(*a);
              return a->used_tick > b->used_tick;
            });
  std::vector<CheckpointId> kept;
  size_t bytes = 0;
  bool query_seen = false;
  for (const CheckpointEntry* entry : wanted) {
    // The latest query's checkpoint is protected as long as it fits at all, until another query's
    // needs its room.
    const bool latest_query = entry->last_query && !query_seen && !protection.query_incoming;
    query_seen |= entry->last_query;
    const size_t bytes_with = bytes + KeptBytes(*entry);
    if (bytes_with <= (latest_query ? protection.budget_bytes : protection.budget_bytes / 2)) {
      bytes = bytes_with;
      kept.push_back(entry->checkpoint.id);
    } else if (query_seen) {
      break;
    }
  }
  std::sort(kept.begin(), kept.end());
  return kept;
}

}  // namespace cairn
