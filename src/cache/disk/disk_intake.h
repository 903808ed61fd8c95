// DiskIntake: takes objects that a store finds into the cache as if they had been inserted: those
// that an earlier process saved, or another one beside this. Objects that vanish from the store are
// forgotten.
//
// Does nothing where the store does not save.
//
// Threads: called by one thread.

#ifndef CAIRN_CACHE_DISK_DISK_INTAKE_H_
#define CAIRN_CACHE_DISK_DISK_INTAKE_H_

#include <cstdint>
#include <vector>

#include "cache/evictor.h"
#include "cache/object_table.h"
#include "store/object.h"

namespace cairn {

class DiskIntake {
 public:
  // Both outlive it.
  DiskIntake(ObjectTable* table, Evictor* evictor) : table_(table), evictor_(evictor) {}

  // Takes in the objects that were found since, and forgets those that are gone. Cheap when there
  // is no news.
  void TakeNews();
  // The budget grew: objects that found no room are tried again.
  void OnMoreRoom() { offers_again_ = true; }

 private:
  enum class TakenIn : uint8_t { kDone, kUseless, kParentMissing, kNoRoom };

  void KeepFewWaiting();
  TakenIn TakeIn(const ObjectHeader& header);
  TakenIn TakeInSnapshot(NamespaceId name_space, const ObjectHeader& header);
  TakenIn TakeInSegment(NamespaceId name_space, const ObjectHeader& header);
  TakenIn TakeInFullState(NamespaceId name_space, const ObjectHeader& header);
  // An object in memory is the same as the one that was found.
  TakenIn SavedByOthers(uint64_t id, const ObjectHeader& header);

  ObjectTable* const table_;
  Evictor* const evictor_;
  bool offers_again_ = false;
  // Found before the segment they begin in, or before there was room.
  std::vector<ObjectHeader> waiting_;
};

}  // namespace cairn

#endif  // CAIRN_CACHE_DISK_DISK_INTAKE_H_
