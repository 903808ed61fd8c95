// What a slot is about to lose, saved: as segments where KV can be taken apart, whole elsewhere.

#include <algorithm>
#include <utility>

#include "sched/slots/slot_keeper.h"

namespace cairn {

void SlotKeeper::Offload(Slot* slot) {
  if (!options_.offload) return;
  TraceSpan span(options_.trace, "offload");
  span.Add("slot", static_cast<size_t>(slot->seq())).Add("tokens", slot->tokens().size());
  offloading_ = slot;
  Save(slot);
  offloading_ = nullptr;
}

void SlotKeeper::Save(Slot* slot) {
  const MemoryTraits& traits = engine_->traits();
  const bool has_kv = traits.kv_bytes_per_token > 0;
  if (has_kv && !traits.segments) {
    if (traits.whole_states && OffloadWhole(slot)) ++stats_.offloaded;
    return;
  }
  const Useful useful = UsefulOf(*slot);
  if (useful.end == 0) return;
  // The state first: attention KV on which none stands would be the first to be given up.
  if (options_.mode != ReuseMode::kExact) {
    TakeCheckpoint(static_cast<size_t>(slot->seq()), CheckpointClass::kReply, 0);
  }
  if (has_kv && !OffloadSegments(slot, useful)) return;
  ++stats_.offloaded;
}

SlotKeeper::Useful SlotKeeper::UsefulOf(const Slot& slot) const {
  Useful useful{slot.own_tokens(), slot.own_provenance()};
  if (options_.mode != ReuseMode::kExact) return useful;
  // Nothing goes on from bits off the grid, and without a snapshot KV leads nowhere.
  useful.end = std::min(useful.end, useful.provenance.clean);
  if (engine_->traits().NeedsSnapshots()) {
    const TokenSpan clean = TokenSpan(slot.tokens()).first(useful.end);
    useful.end = 0;
    for (const Checkpoint& held : cache_->Match(slot.name_space(), clean).checkpoints) {
      if (held.on_grid()) useful.end = held.position;
    }
  }
  useful.provenance.CutTo(useful.end);
  return useful;
}

bool SlotKeeper::OffloadWhole(Slot* slot) {
  if (slot->tokens().empty() || !slot->is_own()) return false;
  auto whole = slot->TakeWhole();
  if (!whole) return false;
  return cache_
      ->InsertWhole(slot->name_space(), slot->tokens(), slot->provenance(), std::move(*whole))
      .has_value();
}

bool SlotKeeper::OffloadSegments(Slot* slot, const Useful& useful) {
  const TokenSpan tokens = TokenSpan(slot->tokens()).first(useful.end);
  const auto gaps = cache_->MissingSegments(slot->name_space(), tokens, useful.provenance);
  return std::all_of(gaps.begin(), gaps.end(),
                     [&](const SegmentGap& gap) { return OffloadSegment(slot, useful, gap); });
}

bool SlotKeeper::OffloadSegment(Slot* slot, const Useful& useful, const SegmentGap& gap) {
  const TokenSpan tokens = TokenSpan(slot->tokens()).first(useful.end);
  auto segment = slot->TakeSegment(gap);
  if (!segment) return false;
  return cache_
      ->InsertSegment(slot->name_space(), tokens, useful.provenance, gap, std::move(*segment))
      .has_value();
}

bool SlotKeeper::StoreUnused(bool now) {
  if (!cache_->saves() || !options_.offload) return false;
  const double before_ms = clock_->NowMs() - options_.unused_ms;
  for (Kept& kept : slots_) {
    if (!kept.free || kept.slot.tokens().empty()) continue;
    if (!now && kept.released_ms > before_ms) continue;
    if (kept.chunks_left == 0u) continue;
    const bool whole = engine_->traits().kv_bytes_per_token > 0 && !engine_->traits().segments;
    if (whole && !now) continue;
    if (whole) {
      kept.chunks_left = 0;
      Save(&kept.slot);
      return true;
    }
    if (StorePiece(&kept)) return true;
    kept.chunks_left = 0;
  }
  return false;
}

bool SlotKeeper::StorePiece(Kept* kept) {
  TraceSpan span(options_.trace, "store");
  span.Add("slot", static_cast<size_t>(kept->slot.seq()));
  const bool stored = StoreNextOf(kept);
  if (!stored) span.Drop();
  return stored;
}

bool SlotKeeper::StoreNextOf(Kept* kept) {
  Slot* const slot = &kept->slot;
  const Useful useful = UsefulOf(*slot);
  if (useful.end == 0) return false;
  const bool begins = !kept->chunks_left.has_value();
  if (begins && options_.mode != ReuseMode::kExact) {
    TakeCheckpoint(static_cast<size_t>(slot->seq()), CheckpointClass::kReply, 0);
  }
  if (engine_->traits().kv_bytes_per_token == 0) {
    kept->chunks_left = 0;
    return begins;
  }
  const TokenSpan tokens = TokenSpan(slot->tokens()).first(useful.end);
  const auto gaps = cache_->MissingSegments(slot->name_space(), tokens, useful.provenance);
  // Where the budget is so tight that each piece takes the room of the one before, this ends too.
  if (begins) kept->chunks_left = gaps.size();
  if (gaps.empty() || *kept->chunks_left == 0) return begins;
  --*kept->chunks_left;
  return OffloadSegment(slot, useful, gaps.front());
}

size_t SlotKeeper::UnstoredBytes() const {
  if (!cache_->saves() || !options_.offload) return 0;
  const MemoryTraits& traits = engine_->traits();
  size_t bytes = 0;
  for (const Kept& kept : slots_) {
    if (kept.slot.tokens().empty() || kept.chunks_left == 0u) continue;
    bytes += traits.snapshot_bytes + kept.slot.own_tokens() * traits.kv_bytes_per_token;
  }
  return bytes;
}

}  // namespace cairn
