// What the cache may give up, as eviction policies are told of it.

#include <algorithm>

#include "cache/checkpoint_cache.h"

namespace cairn {

std::vector<EvictionCandidate> CheckpointCache::Candidates() const {
  const std::vector<CheckpointId> kept = Protected();
  std::vector<EvictionCandidate> candidates;
  for (const auto& [id, entry] : entries_) {
    if (entry.pins > 0 || std::binary_search(kept.begin(), kept.end(), id)) continue;
    candidates.push_back(CandidateOf(entry));
  }
  for (const auto& [id, segment] : segments_.segments()) {
    if (segment.pins == 0 && segment.children == 0) candidates.push_back(CandidateOf(segment));
  }
  for (const auto& [id, whole] : wholes_.wholes()) {
    if (whole.pins == 0) candidates.push_back(CandidateOf(whole));
  }
  // Hash order differs between machines; decisions must not.
  std::sort(candidates.begin(), candidates.end(),
            [](const auto& a, const auto& b) { return a.id < b.id; });
  return candidates;
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

EvictionCandidate CheckpointCache::CandidateOf(const SegmentIndex::Segment& segment) const {
  EvictionCandidate candidate;
  candidate.kind = CandidateKind::kSegment;
  candidate.id = segment.id;
  candidate.position = segment.range.end;
  candidate.bytes = segment.bytes + SegmentIndex::TokenBytesFreedBy(segment);
  // It leads back to the end of a conversation, as a snapshot after an answer does.
  candidate.checkpoint_class = CheckpointClass::kReply;
  candidate.created_tick = segment.created_tick;
  candidate.used_tick = segment.used_tick;
  candidate.age_ticks = tick_ - segment.used_tick;
  candidate.uses = segment.uses;
  candidate.ancestor_position = segment.range.begin;
  candidate.reread_tokens = segment.range.end - segment.range.begin;
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

bool CheckpointCache::Protectable(const Entry& entry) const {
  if (IsKept(entry)) return true;
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

std::vector<CheckpointId> CheckpointCache::Protected() const {
  std::vector<const Entry*> wanted;
  for (const auto& [id, entry] : entries_) {
    if (Protectable(entry)) wanted.push_back(&entry);
  }
  std::sort(wanted.begin(), wanted.end(), [this](const Entry* a, const Entry* b) {
    // What a client was promised comes before what we think best.
    if (IsKept(*a) != IsKept(*b)) return IsKept(*a);
    return a->used_tick > b->used_tick;
  });
  std::vector<CheckpointId> kept;
  size_t bytes = 0;
  for (const Entry* entry : wanted) {
    bytes += KeptBytes(*entry);
    if (bytes > options_.ram_bytes_max / 2) break;
    kept.push_back(entry->checkpoint.id);
  }
  std::sort(kept.begin(), kept.end());
  return kept;
}

}  // namespace cairn
