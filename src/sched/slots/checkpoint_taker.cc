#include "sched/slots/checkpoint_taker.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/bytes.h"

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

}  // namespace cairn
