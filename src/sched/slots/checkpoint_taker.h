// CheckpointTaker: stores states of slots in the cache as checkpoints.
//
// Threads: the context thread.

#ifndef CAIRN_SCHED_SLOTS_CHECKPOINT_TAKER_H_
#define CAIRN_SCHED_SLOTS_CHECKPOINT_TAKER_H_

#include <cstddef>
#include <span>

#include "base/trace_events.h"
#include "cache/checkpoint_cache.h"
#include "sched/slots/slot_pool.h"

namespace cairn {

class CheckpointTaker {
 public:
  // `pool` outlives it.
  explicit CheckpointTaker(SlotPool* pool) : pool_(pool) {}

  // Stores the state at the slot's end. `turns`: of the prompt, when it ends here or soon.
  void Take(size_t slot_index, CheckpointClass checkpoint_class, size_t turns);
  // The same at the end of a prompt, whose `logits` are stored with the state.
  void TakeEnd(size_t slot_index, std::span<const float> logits);

 private:
  void Insert(const Slot& slot, const Checkpoint& checkpoint, Bytes bytes, TraceSpan* span);

  SlotPool* const pool_;
};

}  // namespace cairn

#endif  // CAIRN_SCHED_SLOTS_CHECKPOINT_TAKER_H_
