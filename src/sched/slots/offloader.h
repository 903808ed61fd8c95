// Offloader: saves slots' content to the cache, as segments where KV can be taken apart, as one
// state elsewhere: before a slot loses it, while the slot is unused, and when an idle slot slows
// the others down.
//
// All slots lie in one buffer, and attention passes over its cells for every token, those of other
// slots too. llama-server empties idle slots at every new task for that reason
// (--cache-idle-slots).
//
//   slot 0   | conversation A, idle |     for each token of B and C a pass over A's cells too
//   slot 1   | B, prefill … |             ─> A is stored, segment by segment, and its cells are
//   free slot 2   | C, answering … |
//
// But coming back costs too. Whether anyone comes back is not known, so a slot stays until its
// cells have cost the others about as much as storing them and bringing them back: then never more
// than twice the least is paid (ski rental: Karlin et al., Competitive Snoopy Caching, 1988). Both
// grow with the cells, so tokens are counted.
//
// Threads: the context thread.

#ifndef CAIRN_SCHED_SLOTS_OFFLOADER_H_
#define CAIRN_SCHED_SLOTS_OFFLOADER_H_

#include <cstddef>

#include "sched/slots/checkpoint_taker.h"
#include "sched/slots/slot_pool.h"

namespace cairn {

class Offloader {
 public:
  // Both outlive it.
  Offloader(SlotPool* pool, CheckpointTaker* checkpoints)
      : pool_(pool), checkpoints_(checkpoints) {}

  // Saves a slot's content as far as it is of use later and fits. The slot keeps it.
  void Offload(Slot* slot);
  void OffloadAndClear(size_t slot);
  // Offloads and empties the free slot that was unused for longest. False: none holds anything.
  bool EmptyAFreeSlot();

  // Where the cache saves: copies to it the next part of an unused slot, so that its content is
  // safe while the slot goes on holding it. False: there was nothing to copy. `now`: without
  // waiting until it was unused for long. Slots that are stored as one state are copied only then,
  // as each copy is all of it.
  bool StoreUnused(bool now);
  // About so much StoreUnused has still to copy.
  size_t UnstoredBytes() const;

  // Slots in use have computed so many tokens.
  void CountBeside(size_t tokens);
  // Stores a part of a free slot that slows those in use down, which have so many tokens to compute
  // at least, or empties it when all is stored. False: no slot does.
  bool OffloadIdle(size_t coming_tokens);

 private:
  // The part of a slot that can be resumed later: how far, and whose bits.
  struct Useful {
    size_t end = 0;
    Provenance provenance;
  };

  void Save(Slot* slot);
  Useful UsefulOf(const Slot& slot) const;
  bool SaveFullState(Slot* slot);
  bool SaveSegments(Slot* slot, const Useful& useful);
  bool SaveSegment(Slot* slot, const Useful& useful, const SegmentGap& gap);
  // False: there is nothing more.
  bool StorePart(SlotPool::Entry* entry);
  bool StoreNextOf(SlotPool::Entry* entry);
  bool SlowsOthers(const SlotPool::Entry& entry, size_t coming_tokens) const;
  // Whether emptying it would lose nothing.
  bool IsStored(const Slot& slot) const;

  SlotPool* const pool_;
  CheckpointTaker* const checkpoints_;
};

}  // namespace cairn

#endif  // CAIRN_SCHED_SLOTS_OFFLOADER_H_
