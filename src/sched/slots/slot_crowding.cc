// Free slots that slow those at work down. All slots lie in one buffer, and attention passes over
// its cells for every token, those of other slots too. llama-server empties idle slots at every new
// task for that reason (--cache-idle-slots).
//
//   slot 0   | conversation A, idle |     for each token of B and C a pass over A's cells too
//   slot 1   | B, reading … |             ─> A is stored, piece by piece, and its cells are free
//   slot 2   | C, answering … |
//
// But coming back costs too. Whether anyone comes back is not known, so a slot stays until what its
// cells cost the others is about what storing them and bringing them back costs: whatever happens
// then, never more than twice the least is paid (ski rental: Karlin et al., Competitive Snoopy
// Caching, 1988). Both grow with the cells, so what is counted is tokens.

#include "sched/slots/slot_keeper.h"

namespace cairn {

void SlotKeeper::CountBeside(size_t tokens) {
  for (Kept& kept : slots_) {
    if (kept.free) kept.beside_tokens += tokens;
  }
}

bool SlotKeeper::IsCrowding(const Kept& kept, size_t coming_tokens) const {
  if (!kept.free || kept.stays || kept.slot.tokens().empty()) return false;
  // What was moved within a slot lives nowhere else.
  if (!kept.slot.is_own()) return false;
  const MemoryTraits& traits = engine_->traits();
  const size_t cells = ledger_.OnlyIn(static_cast<size_t>(kept.slot.seq()));
  if (cells == 0) return false;
  // Its snapshot is moved as well, and in nobody's way.
  const auto kv_bytes = static_cast<double>(cells * traits.kv_bytes_per_token);
  const double moved = 1 + static_cast<double>(traits.snapshot_bytes) / kv_bytes;
  return static_cast<double>(kept.beside_tokens + coming_tokens) >=
         moved * static_cast<double>(options_.beside_tokens_max);
}

bool SlotKeeper::IsStored(const Slot& slot) const {
  const Useful useful = UsefulOf(slot);
  const TokenSpan tokens = TokenSpan(slot.tokens()).first(useful.end);
  if (!cache_->MissingSegments(slot.name_space(), tokens, useful.provenance).empty()) return false;
  if (options_.mode == ReuseMode::kExact || !engine_->traits().NeedsSnapshots()) return true;
  return cache_->Holds(slot.name_space(), slot.tokens(), slot.lineage());
}

bool SlotKeeper::OffloadIdle(size_t coming_tokens) {
  const MemoryTraits& traits = engine_->traits();
  if (options_.beside_tokens_max == 0 || !options_.offload) return false;
  if (!traits.segments || traits.kv_bytes_per_token == 0) return false;
  for (Kept& kept : slots_) {
    if (!IsCrowding(kept, coming_tokens)) continue;
    const bool more = kept.chunks_left != 0u && StorePiece(&kept);
    if (IsStored(kept.slot)) {
      kept.slot.Clear(kept.slot.name_space());
      ++stats_.offloaded;
    } else {
      kept.stays = !more;
    }
    return true;
  }
  return false;
}

}  // namespace cairn
