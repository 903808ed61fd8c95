// SlotArchive: erases slots, saves them to files and restores them, for clients
// (sched/slot_files.h).
//
// Threads: the context thread. SlotCommands calls it there on behalf of other threads.

#ifndef CAIRN_SCHED_SLOTS_SLOT_ARCHIVE_H_
#define CAIRN_SCHED_SLOTS_SLOT_ARCHIVE_H_

#include <cstddef>

#include "sched/slots/offloader.h"
#include "sched/slots/saved_slot.h"
#include "sched/slots/slot_pool.h"

namespace cairn {

class SlotArchive {
 public:
  // Both must outlive this object.
  SlotArchive(SlotPool* pool, Offloader* offloader) : pool_(pool), offloader_(offloader) {}

  // kInvalidArgument if there is no such slot. kUnavailable if it is in use.
  Status CheckFree(size_t slot) const;
  // Drops a slot's contents without saving them, and returns the number of tokens dropped. Errors
  // as in CheckFree; kInvalidArgument if the contents belong to another client.
  Result<size_t> Erase(size_t slot, NamespaceId name_space);

  // Begins to save a slot to a file, in parts. The slot is in use until EndSaving, so its contents
  // do not change while other slots continue. Errors as in CheckFree; kInvalidArgument if it is
  // empty or another client's; kUnsupported if the model's states cannot be taken out.
  Result<SlotContent> BeginSaving(size_t slot, NamespaceId name_space);
  // Returns a part's bytes. kNotFound for a checkpoint that the cache has evicted since; the other
  // parts do not need it. REQUIRES: the slot is being saved.
  Result<Bytes> TakePart(size_t slot, const SlotPart& part);
  void EndSaving(size_t slot);
  void EndAllSaving();

  // Restores a saved slot into `slot`, and hands the checkpoints to the cache; the slot's previous
  // contents are offloaded first. kUnavailable if it is in use, or other slots take the room; then
  // nothing has changed. kInvalidArgument if there is no such slot, or the engine rejects the
  // states. kTooLong if the conversation exceeds the context of a slot.
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
