// DiskLoader: reads saved objects into memory before they are needed, so that the context thread
// does not wait for the disk:
//
//   Begin(ids) ──> pinned ──> the store's thread reads them, in order, a few at a time
//                                 │ TakeEvents
//                                 v
//                             in memory, inside the budget ──> IsLoading is false ──> use ──> End
//
// What is read for requests that wait takes at most half of the budget: what the slots lose for
// them needs the rest. An object that does not fit ends the reading of its load: it and those
// behind it are read when they are used. So does an object that cannot be read; it is removed.
//
// Does nothing if the store does not save.
//
// Threads: called by one thread.

#ifndef CAIRN_CACHE_DISK_DISK_LOADER_H_
#define CAIRN_CACHE_DISK_DISK_LOADER_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <unordered_set>
#include <vector>

#include "cache/evictor.h"
#include "cache/object_table.h"
#include "store/snapshot_store.h"

namespace cairn {

class DiskLoader {
 public:
  using LoadId = uint64_t;  // from 1

  // Both must outlive this object.
  DiskLoader(ObjectTable* table, Evictor* evictor) : table_(table), evictor_(evictor) {}

  // Pins `ids` until End, and reads those that are not in memory. REQUIRES: the objects exist.
  LoadId Begin(const std::vector<uint64_t>& ids);
  // Whether objects of the load are still to be read.
  bool IsLoading(LoadId load) const;
  // Reads that have ended, since the start.
  uint64_t reads() const { return reads_; }
  // Does nothing if the load has ended.
  void End(LoadId load);
  // Takes the object out of all loads, so that it can be removed.
  void Forget(uint64_t id);
  // Whether the object must be read from disk, or was read for a load that has not ended.
  // REQUIRES: the object exists.
  bool FromDisk(uint64_t id) const { return !table_->InMemory(id) || arrived_.contains(id); }

  // Takes in the objects that were read since the last call, and begins to read the next ones.
  void OnRead(const SnapshotStore::Events& events);

 private:
  struct Load {
    std::vector<uint64_t> ids;  // pinned
    std::vector<uint64_t> to_read;
  };

  // Whether there is room for `bytes` beside what has arrived for loads that have not ended.
  bool MayKeep(size_t bytes) const;
  // Ends the reading of the loads that hold the object.
  void StopReading(uint64_t id);
  // Whether others are lost if the object is read before the disk has taken more of what waits for
  // it.
  bool IsWorthAWait(uint64_t id) const;
  void ReadNext();

  ObjectTable* const table_;
  Evictor* const evictor_;
  std::map<LoadId, Load> loads_;
  LoadId last_load_ = 0;
  uint64_t reads_ = 0;
  std::unordered_set<uint64_t> reading_;
  std::unordered_set<uint64_t> arrived_;  // for loads that have not ended
};

}  // namespace cairn

#endif  // CAIRN_CACHE_DISK_DISK_LOADER_H_
