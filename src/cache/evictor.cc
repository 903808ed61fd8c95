#include "cache/evictor.h"

#include <algorithm>
#include <new>
#include <utility>

namespace cairn {

Evictor::Evictor(ObjectTable* table, DiskSaver* saver, std::unique_ptr<EvictionPolicy> policy,
                 size_t budget_bytes, size_t path_checkpoints_max)
    : table_(table),
      saver_(saver),
      ranking_(table),
      eviction_(std::move(policy)),
      budget_(budget_bytes),
      path_checkpoints_max_(path_checkpoints_max) {}

bool Evictor::MakeRoom(size_t bytes) {
  if (table_->HeldBytes() + bytes <= budget_) return true;
  const SlotParts in_slots = PartsInSlots(*table_);
  while (table_->HeldBytes() + bytes > budget_) {
    // Saved objects can be read again, which costs almost nothing compared with prefill.
    if (!ReleaseSome(in_slots, bytes) && !EvictSome(in_slots, bytes)) return false;
  }
  return true;
}

std::vector<EvictionCandidate> Evictor::SavedCandidates(const SlotParts& in_slots,
                                                        SnapshotStore::Place place) const {
  std::vector<EvictionCandidate> candidates;
  for (const auto& [id, entry] : table_->entries()) {
    if (entry.pins == 0 && entry.checkpoint.bytes > 0 && table_->store().PlaceOf(id) == place) {
      candidates.push_back(ranking_.CandidateOf(entry));
    }
  }
  for (const auto& [id, segment] : table_->segments().segments()) {
    if (segment.pins == 0 && table_->store().PlaceOf(id) == place) {
      candidates.push_back(ranking_.CandidateOf(segment, in_slots));
    }
  }
  for (const auto& [id, whole] : table_->full_states().full_states()) {
    if (whole.pins == 0 && table_->store().PlaceOf(id) == place)
      candidates.push_back(ranking_.CandidateOf(whole));
  }
  return candidates;
}

bool Evictor::ReleaseSome(const SlotParts& in_slots, size_t bytes) {
  if (!table_->store().saves()) return false;
  // An object that is being written occupies memory until the write ends, so those come last.
  for (const auto place : {SnapshotStore::Place::kBoth, SnapshotStore::Place::kSaving}) {
    const std::vector<EvictionCandidate> candidates = SavedCandidates(in_slots, place);
    if (candidates.empty()) continue;
    bool any = false;
    for (const size_t victim : eviction_->Victims(candidates, CountAtOnce(candidates, bytes))) {
      if (any && table_->HeldBytes() + bytes <= budget_) break;
      table_->store().Release(candidates[victim].id);
      table_->changes().Note(candidates[victim].id);
      ++table_->stats().released;
      any = true;
    }
    return any;
  }
  return false;
}

size_t Evictor::SetBudget(size_t bytes_max) {
  const size_t before = table_->HeldBytes();
  budget_ = bytes_max;
  if (!MakeRoom(0)) budget_ = table_->HeldBytes();  // the rest is in use
  return before - std::min(before, table_->HeldBytes());
}

size_t Evictor::CountAtOnce(const std::vector<EvictionCandidate>& candidates, size_t bytes) const {
  size_t candidate_bytes = candidates.size();  // at least one byte each
  for (const EvictionCandidate& candidate : candidates) candidate_bytes += candidate.bytes;
  const size_t wanted = table_->HeldBytes() + bytes;
  const size_t over = wanted - std::min(wanted, budget_);
  // Some candidates are skipped, and some are smaller than the average.
  const size_t enough = 1 + 2 * (over / (candidate_bytes / candidates.size()));
  return std::clamp<size_t>(enough, 1, std::max<size_t>(1, candidates.size() / 8));
}

bool Evictor::EvictSome(const SlotParts& in_slots, size_t bytes) {
  ranking_.Find(in_slots, {budget_, query_incoming_}, &candidates_);
  const std::vector<EvictionCandidate>& candidates = candidates_;
  if (candidates.empty()) return false;
  bool any = false;
  for (const size_t victim : eviction_->Victims(candidates, CountAtOnce(candidates, bytes))) {
    if (table_->HeldBytes() + bytes <= budget_) break;
    if (any && !ranking_.IsAsRanked(candidates[victim], in_slots)) continue;
    Evict(candidates[victim]);
    any = true;
  }
  return any;
}

void Evictor::Evict(const EvictionCandidate& candidate) {
  // If a slot holds the object too, this is a copy, which is made again when the slot is offloaded.
  if (!candidate.in_slot && saver_->SaveInstead(candidate.id)) return;
  switch (candidate.kind) {
    case CandidateKind::kSnapshot:
      DropSnapshot(candidate.id);
      break;
    case CandidateKind::kSegment:
      table_->DropSegment(candidate.id);
      break;
    case CandidateKind::kFullState:
      table_->DropFullState(candidate.id);
      break;
  }
  ++table_->stats().evicted;
}

void Evictor::DropSnapshot(CheckpointId id) {
  const CheckpointEntry& gone = table_->EntryOf(id);
  CheckpointEntry* heir = nullptr;
  for (const PrefixTree::Node* node = PrefixTree::AncestorOf(gone.node);
       node != nullptr && heir == nullptr; node = PrefixTree::AncestorOf(node)) {
    // One that is being inserted is in the tree already, but not in the table.
    heir = table_->FindEntry(PrefixTree::ValueOf(node));
  }
  if (heir != nullptr) {
    if (ClassWeight(gone.role) > ClassWeight(heir->role)) heir->role = gone.role;
    heir->used_tick = std::max(heir->used_tick, gone.used_tick);
    heir->passed = heir->passed && gone.passed;
  }
  table_->Drop(id);
}

Status Evictor::StoreBytes(uint64_t id, Bytes bytes, bool is_query) {
  try {
    query_incoming_ = is_query;
    const bool has_room = MakeRoom(table_->store().BytesFor(bytes));
    query_incoming_ = false;
    if (!has_room) return RefuseRoom();
    Status put = table_->store().Put(id, std::move(bytes));
    if (!put) ++table_->stats().refused;
    return put;
  } catch (const std::bad_alloc&) {
    query_incoming_ = false;
    // The store has an entry for it already, which must be removed.
    table_->store().Erase(id);
    return RefuseRoom();
  }
}

tl::unexpected<Error> Evictor::RefuseRoom() {
  ++table_->stats().refused;
  return Fail(ErrorCode::kNoSpace, "it does not fit the cache's budget");
}

void Evictor::KeepPathShort(const CheckpointEntry& entry) {
  if (path_checkpoints_max_ == 0) return;
  std::vector<EvictionCandidate> candidates;
  size_t on_path = 1;
  for (const PrefixTree::Node* node = PrefixTree::AncestorOf(entry.node); node != nullptr;
       node = PrefixTree::AncestorOf(node)) {
    ++on_path;
    const CheckpointEntry& ancestor = table_->EntryOf(PrefixTree::ValueOf(node));
    if (ancestor.pins == 0) candidates.push_back(ranking_.CandidateOf(ancestor));
  }
  if (on_path <= path_checkpoints_max_ || candidates.empty()) return;
  const std::optional<size_t> victim = eviction_->Victim(candidates);
  if (!victim) return;
  DropSnapshot(candidates[*victim].id);
  ++table_->stats().evicted;
  ++table_->stats().path_full;
}

}  // namespace cairn
