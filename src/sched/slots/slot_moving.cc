// What a slot holds, moved to other positions: where a prompt has it elsewhere (--cache-reuse), and
// where an answer has come to the end of its context (--context-shift).
//
// What was moved was computed behind other tokens, so it is no prompt's own: the slot may go on
// from it, and nobody else ever sees it (Slot::own_tokens).

#include <algorithm>

#include "sched/slots/slot_keeper.h"

namespace cairn {

std::optional<SlotKeeper::Move> SlotKeeper::FindMove(const SlotNeeds& needs) const {
  std::optional<Move> best;
  const bool granted = needs.wish && slots_[*needs.wish].free;
  for (size_t i = 0; i < slots_.size(); ++i) {
    const Kept& kept = slots_[i];
    if (!kept.free || (granted && *needs.wish != i)) continue;
    if (kept.slot.name_space() != needs.name_space) continue;
    Move move;
    move.slot = i;
    move.chunks = FindMovedChunks(kept.slot.tokens(), needs.prompt, options_.move_tokens_min);
    // What another slot holds too stays where it is.
    if (move.chunks.empty() || move.chunks.front().from < ledger_.SharedTokens(i)) continue;
    if (!best || move.end() > best->end()) best = std::move(move);
  }
  return best;
}

std::optional<SlotKeeper::Resumed> SlotKeeper::ResumeByMoving(const SlotNeeds& needs,
                                                              const Way& otherwise) {
  if (options_.move_tokens_min == 0 || !engine_->traits().shifts) return std::nullopt;
  if (!needs.reuse || needs.in_answer) return std::nullopt;
  const auto move = FindMove(needs);
  if (!move || move->end() <= otherwise.point.position) return std::nullopt;
  Kept& kept = slots_[move->slot];
  kept.free = false;
  kept.used_tick = tick_;
  if (LostTokens(kept.slot, needs.name_space, needs.prompt, false) > 0) Offload(&kept.slot);
  Way way;
  way.slot = move->slot;
  MakeRoom(needs, way);
  if (MoveChunks(move->chunks, &kept.slot)) {
    ++stats_.moved;
  } else {
    ++stats_.failed;
    kept.slot.Clear(needs.name_space);
  }
  kept.slot.BeginLineage(++last_lineage_);
  Resumed resumed{move->slot, {}, {}};
  resumed.report.way = ReuseReport::Way::kMoved;
  resumed.report.reused_tokens = resumed.report.live_tokens = kept.slot.tokens().size();
  return resumed;
}

Status SlotKeeper::MoveChunks(const std::vector<MovedChunk>& chunks, Slot* slot) {
  const LineageId lineage = ++last_lineage_;
  size_t dropped = 0;
  for (const MovedChunk& chunk : chunks) {
    const size_t from = chunk.from - dropped;
    if (from == chunk.to) continue;
    if (Status moved = slot->Drop({chunk.to, from}, lineage); !moved) return moved;
    dropped += from - chunk.to;
  }
  return slot->Truncate(chunks.back().to + chunks.back().tokens);
}

size_t SlotKeeper::DropOldest(size_t slot, size_t keep) {
  Slot& full = slots_[slot].slot;
  const size_t size = full.tokens().size();
  if (!engine_->traits().shifts || keep + 1 >= size) return 0;
  const size_t count = (size - keep) / 2;
  const size_t end = keep + count;
  // Emptying another slot may leave nothing to share.
  while (ledger_.SharedTokens(slot) > end &&
         ledger_.used() + ledger_.SharedTokens(slot) - end > engine_->cells()) {
    if (!EmptyAFreeSlot()) return 0;
  }
  if (ledger_.SharedTokens(slot) > end && !full.Unshare(end)) return 0;
  if (!full.Drop({keep, end}, ++last_lineage_)) return 0;
  ++stats_.shifted;
  return count;
}

}  // namespace cairn
