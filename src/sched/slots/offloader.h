// Offloader: saves the contents of slots to the cache, as segments where KV can be cut, as one full
// state elsewhere: before a slot loses its contents, while the slot is unused, and when an idle
// slot slows the others down (idle-slot pressure).
//
// Where all slots lie in one buffer, attention passes over its cells for every token, including
// those of other slots. llama-server empties idle slots at every new task for that reason
// (--cache-idle-slots).
//
//   slot 0   | conversation A, idle |     every token of B and C takes a pass over A's cells too
//   slot 1   | B, prefill …         |     ─> A is stored, segment by segment, and its cells are
//   slot 2   | C, decode …          |        freed
//
// But restoring A costs too, and whether a request will continue A is not known. So a slot stays
// until its cells have cost the others about as much as storing and restoring them: then the total
// is never more than twice the optimum (ski rental: Karlin et al., Competitive Snoopy Caching,
// 1988). Both costs grow with the cells, so tokens are counted. Where each slot has a stream of its
// own, an idle slot costs the others nothing and stays.
//
// Threads: the context thread.

#ifndef CAIRN_SCHED_SLOTS_OFFLOADER_H_
#define CAIRN_SCHED_SLOTS_OFFLOADER_H_

#include <cstddef>
#include <span>

#include "base/process/trace_events.h"
#include "cache/checkpoint_cache.h"
#include "sched/slots/slot_pool.h"

namespace cairn {

// CheckpointTaker: stores slot states in the cache as checkpoints.
//
// Threads: the context thread.
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

class Offloader {
 public:
  // Both must outlive this object.
  Offloader(SlotPool* pool, CheckpointTaker* checkpoints)
      : pool_(pool), checkpoints_(checkpoints) {}

  // Saves a slot's contents as far as they are useful later and fit. The slot keeps them.
  // `preempted`: a request continues from the contents, so they may take all of the cache.
  void Offload(Slot* slot, bool preempted = false);
  void OffloadAndClear(size_t slot, bool preempted = false);
  // Offloads and empties the free slot that was unused for longest. Returns false if all free slots
  // are empty.
  bool EmptyAFreeSlot();

  // For a cache that saves: copies the next part of an unused slot to it, so that the contents are
  // safe while the slot keeps them; all of the slot, where a part costs as much as that. Returns
  // false if there was nothing to copy. `now`: also copies slots that were in use recently, and
  // slots stored as full states, of which each copy is complete.
  bool StoreUnused(bool now);
  // kNothing: there is nothing more to copy, or it cannot be copied in parts. kNoRoom: the cache
  // has no room for it now, because the rest is in use.
  enum class StoredPart { kStored, kNothing, kNoRoom };
  // Copies the next part of a free slot that is about to lose its contents. `begins`: the first
  // one.
  StoredPart StoreNextPart(size_t slot, bool begins);
  // Whether emptying the slot would lose nothing.
  bool IsStored(const Slot& slot) const;
  // An estimate of the bytes that StoreUnused has still to copy.
  size_t UnstoredBytes() const;

  // Records that slots in use have computed `tokens` tokens.
  void CountBeside(size_t tokens);
  // Stores a part of a free slot that slows down the slots in use, which have at least
  // `coming_tokens` to compute; or empties it once all is stored. Returns false if no slot slows
  // others.
  bool OffloadIdle(size_t coming_tokens);

 private:
  // The part of a slot that can be resumed later: its end and its provenance.
  struct Useful {
    size_t end = 0;
    Provenance provenance;
  };

  void Save(Slot* slot, bool preempted);
  Useful UsefulOf(const Slot& slot) const;
  // Cuts `useful` to a position that can be resumed from and up to which the cache has room.
  // Returns false if there was room for all of it.
  bool CutToRoom(const Slot& slot, Useful* useful) const;
  bool SaveFullState(Slot* slot);
  bool SaveSegments(Slot* slot, const Useful& useful);
  Status SaveSegment(Slot* slot, const Useful& useful, const SegmentGap& gap);
  // Whether objects wait for the disk, and will be written.
  bool WritesWait() const;
  StoredPart StorePart(SlotPool::Entry* entry);
  StoredPart StoreNextOf(SlotPool::Entry* entry);
  bool SlowsOthers(const SlotPool::Entry& entry, size_t coming_tokens) const;

  SlotPool* const pool_;
  CheckpointTaker* const checkpoints_;
};

}  // namespace cairn

#endif  // CAIRN_SCHED_SLOTS_OFFLOADER_H_
