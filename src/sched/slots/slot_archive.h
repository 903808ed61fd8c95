// SlotArchive: slots that a client erases, saves to a file and restores from one
// (sched/slots/slot_files.h).
//
// Threads: the context thread; SlotCommands calls it there for others.

#ifndef CAIRN_SCHED_SLOTS_SLOT_ARCHIVE_H_
#define CAIRN_SCHED_SLOTS_SLOT_ARCHIVE_H_

#include <cstddef>

#include "sched/slots/offloader.h"
#include "sched/slots/saved_slot.h"
#include "sched/slots/slot_pool.h"

namespace cairn {

class SlotArchive {
 public:
  // Both outlive it.
  SlotArchive(SlotPool* pool, Offloader* offloader) : pool_(pool), offloader_(offloader) {}

  // kInvalidArgument: there is no such slot. kUnavailable: it is in use.
  Status CheckFree(size_t slot) const;
  // Drops a slot's content without saving it; how many tokens that were. Errors as CheckFree's;
  // kInvalidArgument: the content is another client's.
  Result<size_t> Erase(size_t slot, NamespaceId name_space);

  // Begins to save a slot to a file: its content, in parts. The slot is in use until EndSaving, so
  // that it stays as it is while other slots go on. Errors as CheckFree's; kInvalidArgument: it is
  // empty, or another client's. kUnsupported: the model's states cannot be taken out.
  Result<SlotContent> BeginSaving(size_t slot, NamespaceId name_space);
  // A part's bytes. kNotFound: a checkpoint that the cache has evicted since; the others do without
  // it. REQUIRES: the slot is being saved.
  Result<Bytes> TakePart(size_t slot, const SlotPart& part);
  void EndSaving(size_t slot);
  void EndAllSaving();

  // Sets a slot to a saved one, and hands the checkpoints to the cache; the slot's content is
  // offloaded first. kUnavailable: it is in use, or others hold the room; nothing has changed.
  // kInvalidArgument: there is no such slot, or the engine does not take the states. kTooLong: it
  // is more than a slot holds.
  Status Restore(size_t slot, SavedSlot saved);

 private:
  SlotContent ContentOf(const Slot& slot) const;
  void AddCheckpoints(SlotContent* content) const;
  Status CheckFits(const SavedSlot& saved) const;
  Status MakeRoom(size_t slot, size_t tokens);
  Status SetSaved(Slot* slot, const SavedSlot& saved);
  void KeepCheckpoints(SavedSlot saved);

  SlotPool* const pool_;
  Offloader* const offloader_;
};

}  // namespace cairn

#endif  // CAIRN_SCHED_SLOTS_SLOT_ARCHIVE_H_
