#include "sched/slots/slot_mover.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "media/media_tokens.h"

namespace cairn {

std::optional<SlotMover::Move> SlotMover::Find(const SlotNeeds& needs) const {
  if (pool_->options().move_tokens_min == 0 || !pool_->engine().traits().shifts) {
    return std::nullopt;
  }
  if (!needs.reuse || needs.in_answer) return std::nullopt;
  std::optional<Move> best;
  const bool granted = needs.wish && pool_->entry(*needs.wish).free;
  for (size_t i = 0; i < pool_->size(); ++i) {
    const SlotPool::Entry& entry = pool_->entry(i);
    if (!entry.free || (granted && *needs.wish != i)) continue;
    if (entry.slot.name_space() != needs.name_space) continue;
    // It was restored and lacks rows far before its end, so it might not be cut behind the chunks.
    if (!entry.slot.CanTruncate(std::min<size_t>(1, entry.slot.tokens().size()))) continue;
    Move move;
    move.slot = i;
    move.chunks =
        FindMovedChunks(entry.slot.tokens(), needs.prompt, pool_->options().move_tokens_min);
    // Tokens that another slot shares must stay in place.
    if (move.chunks.empty() || move.chunks.front().from < pool_->ledger().SharedTokens(i)) continue;
    if (!best || move.end() > best->end()) best = std::move(move);
  }
  return best;
}

Status SlotMover::Apply(const Move& move) {
  Slot& slot = pool_->slot(move.slot);
  const LineageId lineage = pool_->NextLineage();
  size_t dropped = 0;
  for (const MovedChunk& chunk : move.chunks) {
    const size_t from = chunk.from - dropped;
    if (from == chunk.to) continue;
    if (Status moved = slot.Drop({chunk.to, from}, lineage); !moved) return moved;
    dropped += from - chunk.to;
  }
  return slot.Truncate(move.end());
}

size_t SlotMover::DropOldest(size_t slot, size_t keep) {
  Slot& full = pool_->slot(slot);
  const CellLedger& ledger = pool_->ledger();
  const size_t size = full.tokens().size();
  if (!pool_->engine().traits().shifts || keep + 1 >= size) return 0;
  const size_t count = (size - keep) / 2;
  const size_t end = keep + count;
  // Emptying another slot may end the sharing.
  while (ledger.SharedTokens(slot) > end &&
         ledger.used() + ledger.SharedTokens(slot) - end > pool_->engine().cells()) {
    if (!offloader_->EmptyAFreeSlot()) return 0;
  }
  if (ledger.SharedTokens(slot) > end && !full.Unshare(end)) return 0;
  if (!full.Drop({keep, end}, pool_->NextLineage())) return 0;
  ++pool_->counters().shifted;
  return count;
}

std::vector<MovedChunk> FindMovedChunks(TokenSpan held, TokenSpan prompt, size_t tokens_min) {
  CHECK(tokens_min > 0);
  std::vector<MovedChunk> chunks;
  if (prompt.empty()) return chunks;
  // A chunk might begin or end inside a medium.
  if (HasMedia(held) || HasMedia(prompt)) return chunks;
  prompt = prompt.first(prompt.size() - 1);
  size_t to = CommonPrefix(held, prompt);
  size_t from = to;
  while (from + tokens_min <= held.size() && to + tokens_min <= prompt.size()) {
    const size_t tokens = CommonPrefix(held.subspan(from), prompt.subspan(to));
    if (tokens < tokens_min) {
      ++from;
      continue;
    }
    chunks.push_back({from, to, tokens});
    from += tokens;
    to += tokens;
  }
  return chunks;
}

}  // namespace cairn
