#include "sched/slots/offloader.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/bytes.h"
#include "engine/kept_window.h"

namespace cairn {

void CheckpointTaker::Take(size_t slot_index, CheckpointClass checkpoint_class, size_t turns) {
  Slot& slot = pool_->slot(slot_index);
  if (!slot.is_own()) return;
  const bool needs_snapshot = pool_->engine().traits().NeedsSnapshots();
  Checkpoint checkpoint;
  checkpoint.checkpoint_class = checkpoint_class;
  checkpoint.lineage = slot.lineage();
  checkpoint.turns = turns;
  const size_t own_answers = slot.provenance().answers.size();
  const size_t prompt_turns = pool_->entry(slot_index).prompt_turns;
  checkpoint.answers = own_answers == 0 ? 0 : std::max(own_answers, prompt_turns);
  if (pool_->cache().Holds(slot.name_space(), slot.tokens(), checkpoint.lineage)) return;
  // On the grid, a slot can resume from segments alone.
  if (checkpoint.on_grid() && !needs_snapshot) return;
  TraceSpan span(pool_->options().trace, "checkpoint");
  Bytes snapshot;
  if (needs_snapshot) {
    auto taken = slot.TakeSnapshot();
    if (!taken) return;
    snapshot = std::move(*taken);
  }
  Insert(slot, checkpoint, std::move(snapshot), &span);
}

void CheckpointTaker::TakeEnd(size_t slot_index, std::span<const float> logits) {
  if (!pool_->options().keep_ends) return;
  Slot& slot = pool_->slot(slot_index);
  if (!slot.is_own()) return;
  Checkpoint checkpoint;
  checkpoint.checkpoint_class = CheckpointClass::kEnd;
  checkpoint.lineage = slot.lineage();
  checkpoint.cold_end = slot.provenance().clean >= slot.cuts().Last();
  checkpoint.logits_bytes = logits.size_bytes();
  TraceSpan span(pool_->options().trace, "checkpoint");
  Bytes bytes;
  if (pool_->engine().traits().NeedsSnapshots()) {
    auto taken = slot.TakeSnapshot();
    if (!taken) return;
    bytes = std::move(*taken);
  }
  const size_t snapshot_bytes = bytes.size();
  if (!TryResize(&bytes, snapshot_bytes + logits.size_bytes())) return;
  std::memcpy(bytes.data() + snapshot_bytes, logits.data(), logits.size_bytes());
  Insert(slot, checkpoint, std::move(bytes), &span);
}

void CheckpointTaker::Insert(const Slot& slot, const Checkpoint& checkpoint, Bytes bytes,
                             TraceSpan* span) {
  const size_t size = bytes.size();
  const bool inserted = pool_->cache()
                            .Insert(slot.name_space(), slot.tokens(), checkpoint, std::move(bytes))
                            .has_value();
  if (inserted) ++pool_->counters().checkpoints_taken;
  if (!span->on()) return;
  span->Add("slot", static_cast<size_t>(slot.seq()));
  span->Add("class", CheckpointClassName(checkpoint.checkpoint_class));
  span->Add("position", slot.tokens().size());
  // If the cache had no room, it is in no tier.
  span->Add("bytes", size).Add("tier", inserted ? "ram" : "none").End();
}

void Offloader::Offload(Slot* slot, bool preempted) {
  if (!pool_->options().offload) return;
  TraceSpan span(pool_->options().trace, "offload");
  span.Add("slot", static_cast<size_t>(slot->seq())).Add("tokens", slot->tokens().size());
  pool_->SetOffloading(slot);
  Save(slot, preempted);
  pool_->SetOffloading(nullptr);
}

void Offloader::Save(Slot* slot, bool preempted) {
  const MemoryTraits& traits = pool_->engine().traits();
  const bool has_kv = traits.kv_bytes_per_token > 0;
  if (has_kv && !traits.segments) {
    if (traits.full_states && SaveFullState(slot)) ++pool_->counters().offloaded;
    return;
  }
  Useful useful = UsefulOf(*slot);
  const bool cut = has_kv && !preempted && CutToRoom(*slot, &useful);
  if (useful.end == 0) return;
  // The state is stored first, because attention KV on which no state stands would be the first to
  // be evicted.
  if (!cut && pool_->options().mode != ReuseMode::kExact) {
    checkpoints_->Take(static_cast<size_t>(slot->seq()), CheckpointClass::kReply, 0);
  }
  if (has_kv && !SaveSegments(slot, useful)) return;
  ++pool_->counters().offloaded;
}

Offloader::Useful Offloader::UsefulOf(const Slot& slot) const {
  Useful useful{slot.own_tokens(), slot.own_provenance()};
  if (pool_->options().mode != ReuseMode::kExact) return useful;
  // No slot continues from bits off the grid, and without a snapshot KV cannot be resumed from.
  useful.end = std::min(useful.end, useful.provenance.clean);
  if (pool_->engine().traits().NeedsSnapshots()) {
    const TokenSpan clean = TokenSpan(slot.tokens()).first(useful.end);
    useful.end = 0;
    for (const Checkpoint& held : pool_->cache().Match(slot.name_space(), clean).checkpoints) {
      if (held.on_grid()) useful.end = held.position;
    }
  }
  useful.provenance.CutTo(useful.end);
  return useful;
}

bool Offloader::CutToRoom(const Slot& slot, Useful* useful) const {
  // Where objects are saved, they leave memory again without being lost.
  if (pool_->cache().saves()) return false;
  const MemoryTraits& traits = pool_->engine().traits();
  const TokenSpan tokens = TokenSpan(slot.tokens()).first(useful->end);
  const size_t bytes = useful->end * traits.kv_bytes_per_token + traits.snapshot_bytes;
  const size_t room = pool_->cache().RoomFor(slot.name_space(), tokens, bytes);
  if (bytes <= room) return false;
  const size_t most = (room - std::min(room, traits.snapshot_bytes)) / traits.kv_bytes_per_token;
  size_t end = 0;
  if (!traits.NeedsSnapshots()) {
    end = slot.cuts().AtOrBefore(std::min(most, useful->provenance.clean));
  } else {
    for (const Checkpoint& held : pool_->cache().Match(slot.name_space(), tokens).checkpoints) {
      const bool own = held.lineage == useful->provenance.LineageAt(held.position);
      if (own && held.position <= most) end = held.position;
    }
  }
  useful->end = end;
  useful->provenance.CutTo(end);
  return true;
}

bool Offloader::SaveFullState(Slot* slot) {
  if (slot->tokens().empty() || !slot->is_own()) return false;
  // Otherwise nothing would use it.
  const bool is_exact = HoldsAllRows(pool_->engine().traits(), slot->tokens().size());
  if (!is_exact && pool_->options().mode == ReuseMode::kExact) return false;
  auto whole = slot->TakeFullState();
  if (!whole) return false;
  return pool_->cache()
      .InsertFullState(slot->name_space(), slot->tokens(), slot->provenance(), std::move(*whole))
      .has_value();
}

bool Offloader::SaveSegments(Slot* slot, const Useful& useful) {
  const TokenSpan tokens = TokenSpan(slot->tokens()).first(useful.end);
  const auto gaps =
      pool_->cache().MissingSegments(slot->name_space(), tokens, useful.provenance, slot->cuts());
  return std::all_of(gaps.begin(), gaps.end(), [&](const SegmentGap& gap) {
    return SaveSegment(slot, useful, gap).has_value();
  });
}

Status Offloader::SaveSegment(Slot* slot, const Useful& useful, const SegmentGap& gap) {
  const TokenSpan tokens = TokenSpan(slot->tokens()).first(useful.end);
  auto segment = slot->TakeSegment(gap);
  if (!segment) return tl::unexpected(segment.error());
  return pool_->cache().InsertSegment(slot->name_space(), tokens, useful.provenance, gap,
                                      std::move(*segment));
}

void Offloader::OffloadAndClear(size_t slot, bool preempted) {
  Offload(&pool_->slot(slot), preempted);
  pool_->slot(slot).Clear(pool_->slot(slot).name_space());
}

bool Offloader::EmptyAFreeSlot() {
  const auto idle = pool_->LongestUnused(pool_->size(), pool_->size());
  if (idle) OffloadAndClear(*idle);
  return idle.has_value();
}

bool Offloader::StoreUnused(bool now) {
  if (!pool_->cache().saves() || !pool_->options().offload) return false;
  // The objects that the next part evicts must be written first. Before the server ends nothing may
  // be lost, so then nothing else waits to be written.
  const bool has_room = pool_->cache().TakesPartAtOnce();
  if (!has_room || (now && WritesWait())) return false;
  const double before_ms = pool_->NowMs() - pool_->options().unused_ms;
  for (SlotPool::Entry& entry : pool_->entries()) {
    if (!entry.free || entry.slot.tokens().empty()) continue;
    if (!now && entry.released_ms > before_ms) continue;
    if (entry.segments_left == 0u) continue;
    const bool whole =
        pool_->engine().traits().kv_bytes_per_token > 0 && !pool_->engine().traits().segments;
    if (whole && !now) continue;
    if (whole) {
      entry.segments_left = 0;
      Save(&entry.slot, false);
      return true;
    }
    if (StorePart(&entry) == StoredPart::kStored) return true;
    if (now && WritesWait()) {
      // There is room for the rest once they are done.
      entry.segments_left.reset();
      return false;
    }
    entry.segments_left = 0;
  }
  return false;
}

bool Offloader::WritesWait() const {
  const SavedStats saved = pool_->cache().saved_stats();
  return saved.unsynced_bytes > 0 && !saved.takes_nothing();
}

Offloader::StoredPart Offloader::StoreNextPart(size_t slot, bool begins) {
  const MemoryTraits& traits = pool_->engine().traits();
  const bool whole = traits.kv_bytes_per_token > 0 && !traits.segments;
  if (whole || !pool_->options().offload) return StoredPart::kNothing;
  SlotPool::Entry& entry = pool_->entry(slot);
  if (begins) entry.segments_left.reset();
  if (entry.segments_left == 0u) return StoredPart::kNothing;
  pool_->SetOffloading(&entry.slot);
  const StoredPart stored = StorePart(&entry);
  pool_->SetOffloading(nullptr);
  return stored;
}

Offloader::StoredPart Offloader::StorePart(SlotPool::Entry* entry) {
  TraceSpan span(pool_->options().trace, "store");
  span.Add("slot", static_cast<size_t>(entry->slot.seq()));
  const StoredPart stored = StoreNextOf(entry);
  if (!pool_->engine().traits().one_buffer) {
    // The first segment cost as much as all of them.
    bool more = stored == StoredPart::kStored;
    while (more && *entry->segments_left > 0) more = StoreNextOf(entry) == StoredPart::kStored;
    pool_->engine().ReleaseTaken();
  }
  if (stored != StoredPart::kStored) span.Drop();
  return stored;
}

Offloader::StoredPart Offloader::StoreNextOf(SlotPool::Entry* entry) {
  Slot* const slot = &entry->slot;
  const Useful useful = UsefulOf(*slot);
  if (useful.end == 0) return StoredPart::kNothing;
  const bool begins = !entry->segments_left.has_value();
  if (begins && pool_->options().mode != ReuseMode::kExact) {
    checkpoints_->Take(static_cast<size_t>(slot->seq()), CheckpointClass::kReply, 0);
  }
  // Where no attention KV is missing, the snapshot is all there is to store.
  const StoredPart snapshot_alone = begins ? StoredPart::kStored : StoredPart::kNothing;
  if (pool_->engine().traits().kv_bytes_per_token == 0) {
    entry->segments_left = 0;
    return snapshot_alone;
  }
  const TokenSpan tokens = TokenSpan(slot->tokens()).first(useful.end);
  const auto gaps =
      pool_->cache().MissingSegments(slot->name_space(), tokens, useful.provenance, slot->cuts());
  // The limit ends the loop even if the budget is so tight that each segment evicts the one before.
  if (begins) entry->segments_left = gaps.size();
  if (gaps.empty() || *entry->segments_left == 0) return snapshot_alone;
  const Status saved = SaveSegment(slot, useful, gaps.front());
  if (!saved && saved.error().code == ErrorCode::kNoSpace) return StoredPart::kNoRoom;
  --*entry->segments_left;
  return saved ? StoredPart::kStored : StoredPart::kNothing;
}

size_t Offloader::UnstoredBytes() const {
  if (!pool_->cache().saves() || !pool_->options().offload) return 0;
  const MemoryTraits& traits = pool_->engine().traits();
  size_t bytes = 0;
  for (const SlotPool::Entry& entry : pool_->entries()) {
    if (entry.slot.tokens().empty() || entry.segments_left == 0u) continue;
    bytes += traits.snapshot_bytes + entry.slot.own_tokens() * traits.kv_bytes_per_token;
  }
  return bytes;
}

void Offloader::CountBeside(size_t tokens) {
  for (SlotPool::Entry& entry : pool_->entries()) {
    if (entry.free) entry.beside_tokens += tokens;
  }
}

bool Offloader::SlowsOthers(const SlotPool::Entry& entry, size_t coming_tokens) const {
  if (!entry.free || entry.stays || entry.slot.tokens().empty()) return false;
  // Moved tokens are stored nowhere else.
  if (!entry.slot.is_own()) return false;
  const MemoryTraits& traits = pool_->engine().traits();
  const size_t cells = pool_->ledger().OnlyIn(static_cast<size_t>(entry.slot.seq()));
  if (cells == 0) return false;
  // Its snapshot has to be moved as well, but does not slow the others down.
  const auto kv_bytes = static_cast<double>(cells * traits.kv_bytes_per_token);
  const double moved = 1 + static_cast<double>(traits.snapshot_bytes) / kv_bytes;
  return static_cast<double>(entry.beside_tokens + coming_tokens) >=
         moved * static_cast<double>(pool_->options().beside_tokens_max);
}

bool Offloader::IsStored(const Slot& slot) const {
  const Useful useful = UsefulOf(slot);
  const TokenSpan tokens = TokenSpan(slot.tokens()).first(useful.end);
  if (!pool_->cache()
           .MissingSegments(slot.name_space(), tokens, useful.provenance, slot.cuts())
           .empty())
    return false;
  if (pool_->options().mode == ReuseMode::kExact || !pool_->engine().traits().NeedsSnapshots())
    return true;
  return pool_->cache().Holds(slot.name_space(), slot.tokens(), slot.lineage());
}

bool Offloader::OffloadIdle(size_t coming_tokens) {
  const MemoryTraits& traits = pool_->engine().traits();
  if (pool_->options().beside_tokens_max == 0 || !pool_->options().offload) return false;
  if (!traits.segments || traits.kv_bytes_per_token == 0 || !traits.one_buffer) return false;
  for (SlotPool::Entry& entry : pool_->entries()) {
    if (!SlowsOthers(entry, coming_tokens)) continue;
    const bool more = entry.segments_left != 0u && StorePart(&entry) == StoredPart::kStored;
    if (IsStored(entry.slot)) {
      entry.slot.Clear(entry.slot.name_space());
      ++pool_->counters().offloaded;
    } else {
      entry.stays = !more;
    }
    return true;
  }
  return false;
}

}  // namespace cairn
