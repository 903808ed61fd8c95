// What the cache may give up, as eviction policies are told of it.

#include <algorithm>

#include "cache/checkpoint_cache.h"

namespace cairn {

CheckpointCache::Ids CheckpointCache::InSlots() const {
  Ids ids;
  if (!slots_.held) return ids;
  for (const SlotsView::Held& held : slots_.held()) {
    for (const PrefixTree::Hit& hit : tree_.Match(held.name_space, held.tokens).hits) {
      ids.insert(hit.value);
    }
    if (held.leaving) continue;  // its copies are about to be all there is
    for (const SegmentIndex::Link& link : segments_.PathAlong(held.name_space, held.tokens)) {
      if (link.end == segments_.Get(link.id).range.end) ids.insert(link.id);
    }
  }
  return ids;
}

void CheckpointCache::FindCandidates(const Ids& in_slots) {
  const std::vector<CheckpointId> kept = Protected(in_slots);
  candidates_.clear();
  for (const auto& [id, entry] : entries_) {
    if (!MayGo(entry) || std::binary_search(kept.begin(), kept.end(), id)) continue;
    EvictionCandidate candidate = CandidateOf(entry);
    candidate.leads_nowhere = LeadsNowhere(entry, in_slots);
    candidates_.push_back(candidate);
  }
  for (const auto& [id, segment] : segments_.segments()) {
    if (MayGo(segment)) candidates_.push_back(CandidateOf(segment, in_slots));
  }
  for (const auto& [id, whole] : wholes_.wholes()) {
    if (MayGo(whole)) candidates_.push_back(CandidateOf(whole));
  }
}

bool CheckpointCache::MayGo(const Entry& entry) const {
  return entry.pins == 0 && MayDrop(entry.checkpoint.id);
}

bool CheckpointCache::MayGo(const SegmentIndex::Segment& segment) const {
  return segment.pins == 0 && segment.children == 0 && MayDrop(segment.id);
}

bool CheckpointCache::MayGo(const WholeState& whole) const {
  return whole.pins == 0 && MayDrop(whole.id);
}

bool CheckpointCache::LeadsNowhere(const Entry& entry, const Ids& in_slots) const {
  return slots_.snapshots_need_kv && entry.holder == 0 && !in_slots.contains(entry.checkpoint.id);
}

bool CheckpointCache::IsAsRanked(const EvictionCandidate& candidate, const Ids& in_slots) const {
  switch (candidate.kind) {
    case CandidateKind::kSnapshot: {
      const auto found = entries_.find(candidate.id);
      return found != entries_.end() && MayGo(found->second) &&
             LeadsNowhere(found->second, in_slots) == candidate.leads_nowhere &&
             CandidateOf(found->second).ancestor_position == candidate.ancestor_position;
    }
    case CandidateKind::kSegment: {
      const auto found = segments_.segments().find(candidate.id);
      return found != segments_.segments().end() && MayGo(found->second) &&
             CandidateOf(found->second, in_slots).reread_tokens == candidate.reread_tokens;
    }
    case CandidateKind::kWhole:
      return wholes_.Holds(candidate.id) && MayGo(wholes_.wholes().at(candidate.id));
  }
  return false;
}

EvictionCandidate CheckpointCache::CandidateOf(const Entry& entry) const {
  const Checkpoint& checkpoint = entry.checkpoint;
  const PrefixTree::Node* above = PrefixTree::AncestorOf(entry.node);
  const PrefixTree::Node* below = PrefixTree::DescendantOf(entry.node);
  EvictionCandidate candidate;
  candidate.id = checkpoint.id;
  candidate.position = checkpoint.position;
  candidate.bytes = checkpoint.bytes + PrefixTree::BytesFreedBy(entry.node);
  candidate.checkpoint_class = checkpoint.checkpoint_class;
  candidate.created_tick = entry.created_tick;
  candidate.used_tick = entry.used_tick;
  candidate.age_ticks = tick_ - entry.used_tick;
  candidate.uses = entry.uses;
  candidate.ancestor_position = above == nullptr ? 0 : PrefixTree::PositionOf(above);
  candidate.descendant_position = below == nullptr ? 0 : PrefixTree::PositionOf(below);
  candidate.reread_tokens = checkpoint.position - candidate.ancestor_position;
  candidate.branches = PrefixTree::BranchesOf(entry.node);
  return candidate;
}

// With a segment goes what stands on it, and what it takes to get there again is read from where
// the segment begins. How likely that is wanted, the deepest of them tells.
EvictionCandidate CheckpointCache::CandidateOf(const SegmentIndex::Segment& segment,
                                               const Ids& in_slots) const {
  EvictionCandidate candidate;
  candidate.kind = CandidateKind::kSegment;
  candidate.id = segment.id;
  candidate.position = segment.range.end;
  candidate.bytes = segment.bytes + SegmentIndex::TokenBytesFreedBy(segment);
  // Without one it leads back to the end of a conversation, as a snapshot after an answer does.
  candidate.checkpoint_class = CheckpointClass::kReply;
  candidate.created_tick = segment.created_tick;
  candidate.used_tick = segment.used_tick;
  candidate.uses = segment.uses;
  candidate.ancestor_position = segment.range.begin;
  candidate.in_slot = in_slots.contains(segment.id);
  const Entry* deepest = nullptr;
  for (const CheckpointId id : segment.checkpoints) {
    const Entry& entry = EntryOf(id);
    if (!in_slots.contains(id)) candidate.bytes += entry.checkpoint.bytes;
    const bool deeper =
        deepest == nullptr || entry.checkpoint.position > deepest->checkpoint.position;
    if (deeper) deepest = &entry;
  }
  size_t end = slots_.needs_snapshots ? segment.range.begin : segment.range.end;
  if (deepest != nullptr) {
    end = std::max(end, deepest->checkpoint.position);
    candidate.checkpoint_class = deepest->checkpoint.checkpoint_class;
    candidate.used_tick = std::max(candidate.used_tick, deepest->used_tick);
    candidate.uses = deepest->uses;
  }
  candidate.age_ticks = tick_ - candidate.used_tick;
  candidate.reread_tokens = end - segment.range.begin;
  candidate.leads_nowhere = candidate.reread_tokens == 0 && !candidate.in_slot;
  return candidate;
}

EvictionCandidate CheckpointCache::CandidateOf(const WholeState& whole) const {
  EvictionCandidate candidate;
  candidate.kind = CandidateKind::kWhole;
  candidate.id = whole.id;
  candidate.position = whole.tokens.size();
  candidate.bytes = whole.bytes;
  candidate.checkpoint_class = CheckpointClass::kReply;
  candidate.created_tick = whole.created_tick;
  candidate.used_tick = whole.used_tick;
  candidate.age_ticks = tick_ - whole.used_tick;
  candidate.uses = whole.uses;
  candidate.reread_tokens = whole.tokens.size();
  return candidate;
}

bool CheckpointCache::Protectable(const Entry& entry, const Ids& in_slots) const {
  if (IsKept(entry)) return true;
  // Of conversations that have left the slots, `value` knows best: kept, they would fill half the
  // budget with ends of yesterday's queries.
  if (slots_.held && !in_slots.contains(entry.checkpoint.id)) return false;
  switch (entry.checkpoint.checkpoint_class) {
    case CheckpointClass::kHeader:
      return PrefixTree::BranchesOf(entry.node) > 0;
    case CheckpointClass::kQuery:
      return entry.last_query;
    default:
      return false;
  }
}

// Tokens that several have in common count for each: what is kept must leave room.
size_t CheckpointCache::KeptBytes(const Entry& entry) {
  return entry.checkpoint.bytes + PrefixTree::BytesOf(entry.checkpoint.position);
}

std::vector<CheckpointId> CheckpointCache::Protected(const Ids& in_slots) const {
  std::vector<const Entry*> wanted;
  for (const auto& [id, entry] : entries_) {
    if (Protectable(entry, in_slots)) wanted.push_back(&entry);
  }
  std::sort(wanted.begin(), wanted.end(), [this](const Entry* a, const Entry* b) {
    // What a client was promised comes before what we think best.
    if (IsKept(*a) != IsKept(*b)) return IsKept(*a);
    return a->used_tick > b->used_tick;
  });
  std::vector<CheckpointId> kept;
  size_t bytes = 0;
  bool query_seen = false;
  for (const Entry* entry : wanted) {
    // The latest query's is kept as long as it fits at all, until another query's wants its room.
    const bool latest_query = entry->last_query && !query_seen && !query_incoming_;
    query_seen |= entry->last_query;
    const size_t bytes_with = bytes + KeptBytes(*entry);
    if (bytes_with <= (latest_query ? budget_ : budget_ / 2)) {
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
