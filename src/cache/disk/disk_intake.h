// DiskIntake: takes objects that a store finds into the cache as if they had been inserted: objects
// that an earlier process saved, or that another running process saves. Objects that vanish from
// the store are removed.
//
// Does nothing if the store does not save.
//
// Threads: called by one thread.

#ifndef CAIRN_CACHE_DISK_DISK_INTAKE_H_
#define CAIRN_CACHE_DISK_DISK_INTAKE_H_

#include <cstdint>
#include <vector>

#include "cache/disk/disk_loader.h"
#include "cache/disk/evictor.h"
#include "cache/objects/object_table.h"
#include "store/object.h"

namespace cairn {

class DiskIntake {
 public:
  // All must outlive this object. `loader` gets the events that concern it.
  DiskIntake(ObjectTable* table, Evictor* evictor, DiskLoader* loader)
      : table_(table), evictor_(evictor), loader_(loader) {}

  // Takes in the objects found since the last call, and removes those that are gone. Cheap when
  // there are no events.
  void TakeEvents();
  // The budget grew: objects that found no room are tried again.
  void OnMoreRoom() { offers_again_ = true; }
  // Namespaces got names: objects that wait for theirs are tried again.
  void OnMoreNames() { offers_again_ = offers_again_ || !waiting_.empty(); }

 private:
  enum class TakenIn : uint8_t { kDone, kUseless, kParentMissing, kNoRoom, kNameUnknown };

  void KeepFewWaiting();
  TakenIn TakeIn(const ListedObject& header);
  TakenIn TakeInSnapshot(NamespaceId name_space, const ListedObject& header);
  TakenIn TakeInSegment(NamespaceId name_space, const ListedObject& header);
  TakenIn TakeInFullState(NamespaceId name_space, const ListedObject& header);
  // An object in memory is identical to the one that was found.
  TakenIn SavedByOthers(uint64_t id, const ObjectHeader& header);

  ObjectTable* const table_;
  Evictor* const evictor_;
  DiskLoader* const loader_;
  bool offers_again_ = false;
  // Objects found before the segment they begin in, before there was room, or before their
  // namespace had a name.
  std::vector<ListedObject> waiting_;
};

}  // namespace cairn

#endif  // CAIRN_CACHE_DISK_DISK_INTAKE_H_
