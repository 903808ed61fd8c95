// CheckpointTaker: stores slot states in the cache as checkpoints.
//
// Threads: the context thread.

#ifndef CAIRN_SCHED_SLOTS_CHECKPOINT_TAKER_H_
#define CAIRN_SCHED_SLOTS_CHECKPOINT_TAKER_H_

#include <cstddef>
#include <span>

#include "base/process/trace_events.h"
#include "cache/checkpoint_cache.h"
#include "sched/slots/slot_pool.h"

namespace cairn {

class CheckpointTaker {
 public:
  // `pool` must outlive this object.
  explicit CheckpointTaker(SlotPool* pool) : pool_(pool) {}

  // Stores the state at the slot's end. `turns`: the number of turns of the prompt, if the prompt
  // ends here or soon after.
  void Take(size_t slot_index, CheckpointClass checkpoint_class, size_t turns);
  // As Take, at the end of a prompt, whose `logits` are stored with the state.
  void TakeEnd(size_t slot_index, std::span<const float> logits);

 private:
  void Insert(const Slot& slot, const Checkpoint& checkpoint, Bytes bytes, TraceSpan* span);

  SlotPool* const pool_;
};

}  // namespace cairn

#endif  // CAIRN_SCHED_SLOTS_CHECKPOINT_TAKER_H_
