// What a slot is about to lose, saved: as segments where KV can be taken apart, whole elsewhere.

#include <utility>

#include "sched/slot_keeper.h"

namespace cairn {

void SlotKeeper::Park(Slot* slot) {
  if (!options_.park) return;
  parking_ = slot;
  Save(slot);
  parking_ = nullptr;
}

void SlotKeeper::Save(Slot* slot) {
  const MemoryTraits& traits = engine_->traits();
  const bool has_kv = traits.kv_bytes_per_token > 0;
  if (has_kv && !traits.segments) {
    if (traits.whole_states && ParkWhole(slot)) ++stats_.parked;
    return;
  }
  const NamespaceId name_space = slot->name_space();
  Provenance provenance = slot->provenance();
  size_t end = slot->tokens().size();
  if (options_.mode == ReuseMode::kExact) {
    // Nothing goes on from bits off the grid, and without a snapshot KV leads nowhere.
    end = provenance.clean;
    if (traits.NeedsSnapshots()) {
      const auto match = cache_->Match(name_space, TokenSpan(slot->tokens()).first(end));
      end = 0;
      for (const Checkpoint& held : match.checkpoints) {
        if (held.on_grid()) end = held.position;
      }
    }
    provenance.CutTo(end);
  }
  if (end == 0) return;
  // The state first: attention KV on which none stands would be the first to be given up.
  if (options_.mode != ReuseMode::kExact) {
    TakeCheckpoint(static_cast<size_t>(slot->seq()), CheckpointClass::kReply, 0);
  }
  if (has_kv && !ParkSegments(slot, end, provenance)) return;
  ++stats_.parked;
}

bool SlotKeeper::ParkWhole(Slot* slot) {
  if (slot->tokens().empty()) return false;
  auto whole = slot->TakeWhole();
  if (!whole) return false;
  return cache_
      ->InsertWhole(slot->name_space(), slot->tokens(), slot->provenance(), std::move(*whole))
      .has_value();
}

bool SlotKeeper::ParkSegments(Slot* slot, size_t end, const Provenance& provenance) {
  const TokenSpan tokens = TokenSpan(slot->tokens()).first(end);
  const NamespaceId name_space = slot->name_space();
  for (const SegmentGap& gap : cache_->MissingSegments(name_space, tokens, provenance)) {
    auto segment = slot->TakeSegment(gap);
    if (!segment) return false;
    if (!cache_->InsertSegment(name_space, tokens, provenance, gap, std::move(*segment))) {
      return false;
    }
  }
  return true;
}

}  // namespace cairn
