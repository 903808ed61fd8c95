#include "cache/disk/evictor.h"

#include <algorithm>
#include <new>
#include <utility>

namespace cairn {
namespace {

// The share of the saved objects that one ranking of them may remove: each removal changes the
// worth of others.
constexpr size_t kRankedShare = 32;
// The share of the disk that is kept free for objects that are saved before they leave memory.
constexpr uint64_t kDiskReserveShare = 64;

}  // namespace

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
    if (!ReleaseSome(in_slots, bytes) && !EvictSome(in_slots, bytes) && !MoveInner(in_slots)) {
      return false;
    }
  }
  return true;
}

void Evictor::KeepDiskReserve() {
  if (!table_->store().saves()) return;
  const auto reserve = static_cast<size_t>(table_->store().saved_bytes_max() / kDiskReserveShare);
  if (HasDiskRoom(reserve)) return;
  const SlotParts in_slots = PartsInSlots(*table_);
  while (!HasDiskRoom(reserve) && RemoveSaved(nullptr, reserve, in_slots)) {
  }
}

size_t Evictor::CleanBytes() const {
  const size_t held = table_->HeldBytes();
  size_t bytes = budget_ - std::min(budget_, held);
  const auto add = [&](uint64_t id, int pins, size_t of) {
    if (pins > 0) return;
    const SnapshotStore::Place place = table_->store().PlaceOf(id);
    const bool clean =
        place == SnapshotStore::Place::kBoth || place == SnapshotStore::Place::kSaving;
    if (clean) bytes += of;
  };
  for (const auto& [id, entry] : table_->entries()) add(id, entry.pins, entry.checkpoint.bytes);
  for (const auto& [id, segment] : table_->segments().segments()) {
    add(id, segment.pins, segment.bytes);
  }
  for (const auto& [id, whole] : table_->full_states().full_states()) {
    add(id, whole.pins, whole.bytes);
  }
  return bytes;
}

bool Evictor::TakesAtOnce(size_t bytes) const {
  return table_->store().MaySave(bytes) || CleanBytes() >= bytes;
}

bool Evictor::MoveInner(const SlotParts& in_slots) {
  if (!table_->store().saves()) return false;
  const SegmentIndex::Segment* first = nullptr;
  for (const auto& [id, segment] : table_->segments().segments()) {
    if (segment.pins > 0 || segment.children == 0 || !IsUnsaved(*table_, id)) continue;
    if (first == nullptr || segment.used_tick < first->used_tick) first = &segment;
  }
  if (first == nullptr) return false;
  EvictionCandidate candidate = ranking_.CandidateOf(*first, in_slots);
  // The segments that begin in it need all of it.
  candidate.recompute_tokens =
      std::max(candidate.recompute_tokens, first->range.end - first->range.begin);
  candidate.checkpoint_class = CheckpointClass::kReply;
  return MoveToDisk(candidate, in_slots);
}

std::vector<EvictionCandidate> Evictor::ReleaseCandidates(const SlotParts& in_slots,
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
    const std::vector<EvictionCandidate> candidates = ReleaseCandidates(in_slots, place);
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
    if (any && !(ranking_.IsAsRanked(candidates[victim], in_slots) &&
                 table_->MayDrop(candidates[victim].id))) {
      continue;
    }
    Evict(candidates[victim], in_slots);
    any = true;
  }
  return any;
}

void Evictor::Evict(const EvictionCandidate& candidate, const SlotParts& in_slots) {
  // If a slot holds the object too, this is a copy, which is made again when the slot is offloaded.
  const bool is_spare = candidate.in_slot && !saver_->saves_all();
  if (!is_spare && !candidate.leads_nowhere && MoveToDisk(candidate, in_slots)) return;
  Remove(candidate);
}

bool Evictor::MoveToDisk(const EvictionCandidate& candidate, const SlotParts& in_slots) {
  const std::optional<size_t> bytes = saver_->BytesToSave(candidate);
  if (!bytes) return false;
  // Neither it nor what it needs goes for it.
  const auto entry = table_->entries().find(candidate.id);
  const SegmentId holder = entry == table_->entries().end() ? 0 : entry->second.holder;
  ++PinsOf(table_, candidate.id);
  if (holder != 0) ++PinsOf(table_, holder);
  const bool has_room = MakeDiskRoom(candidate, *bytes, in_slots);
  --PinsOf(table_, candidate.id);
  if (holder != 0) --PinsOf(table_, holder);
  return has_room && saver_->SaveInstead(candidate);
}

bool Evictor::HasDiskRoom(size_t bytes) const {
  const SnapshotStore& store = table_->store();
  return store.saved_bytes() + bytes <= store.saved_bytes_max();
}

bool Evictor::MakeDiskRoom(const EvictionCandidate& incoming, size_t bytes,
                           const SlotParts& in_slots) {
  while (!HasDiskRoom(bytes)) {
    if (!RemoveSaved(&incoming, bytes, in_slots)) return false;
  }
  return true;
}

bool Evictor::RemoveSaved(const EvictionCandidate* incoming, size_t bytes,
                          const SlotParts& in_slots) {
  std::vector<EvictionCandidate> candidates;
  ranking_.FindSaved(in_slots, &candidates);
  if (incoming != nullptr) candidates.push_back(*incoming);
  if (candidates.empty()) return false;
  bool any = false;
  const size_t count = std::max<size_t>(1, candidates.size() / kRankedShare);
  for (const size_t victim : eviction_->Victims(candidates, count)) {
    if (HasDiskRoom(bytes)) break;
    if (incoming != nullptr && candidates[victim].id == incoming->id) {
      // All that is still to come of a conversation needs what came before.
      if (in_slots.IsLeaving(incoming->id)) continue;
      break;
    }
    if (any && !ranking_.IsAsRanked(candidates[victim], in_slots)) continue;
    Remove(candidates[victim]);
    any = true;
  }
  return any;
}

void Evictor::Remove(const EvictionCandidate& candidate) {
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
