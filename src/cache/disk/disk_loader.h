// DiskLoader: reads saved objects into memory before they are needed, so that the context thread
// does not wait for the disk:
//
//   Begin(ids) ──> pinned ──> the store's thread reads them, in order, a few at a time
//                                 │ TakeEvents
//                                 v
//                             in memory, inside the budget ──> IsLoading is false ──> use ──> End
//
// What is read for requests that wait takes at most half of the budget: what the slots lose for
// them needs the rest. A load that streams is used while it is read: an object that does not fit
// waits until those before it were used. Another load waits until those before it have ended; if
// there are none, an object that does not fit ends its reading: that object and those behind it are
// read when they are used. So does an object that cannot be read; it is removed.
//
// Does nothing if the store does not save.
//
// Threads: called by one thread.

#ifndef CAIRN_CACHE_DISK_DISK_LOADER_H_
#define CAIRN_CACHE_DISK_DISK_LOADER_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "cache/disk/evictor.h"
#include "cache/objects/object_table.h"
#include "store/object.h"
#include "store/snapshot_store.h"

namespace cairn {

class DiskLoader {
 public:
  using LoadId = uint64_t;  // from 1

  // Both must outlive this object.
  DiskLoader(ObjectTable* table, Evictor* evictor) : table_(table), evictor_(evictor) {}

  enum class Kind { kWhole, kStreams };
  // Pins `ids` until End, and reads those that are not in memory. REQUIRES: the objects exist.
  LoadId Begin(const std::vector<uint64_t>& ids, Kind kind = Kind::kWhole);
  // Whether the load has to be waited for before its objects are used: some are still to be read,
  // and it does not stream.
  bool IsLoading(LoadId load) const;
  // Whether this object of the load is still to be read.
  bool IsToRead(LoadId load, uint64_t id) const;
  // The load needs the object no more, which makes room for those behind it.
  void Used(LoadId load, uint64_t id);
  // The most that what has arrived may take.
  size_t bytes_max() const { return evictor_->budget_bytes() / 2; }
  // Whether the store reads for a load now. Otherwise loads wait for room.
  bool is_reading() const { return !reading_.empty(); }
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
    bool streams = false;
    // The object that was read last did not fit, and nothing was used since.
    bool is_full = false;
  };

  // Whether there is room for `bytes` beside what has arrived for loads that have not ended.
  bool MayKeep(size_t bytes) const;
  // An object that was read has no room. Ends the reading of the loads that hold it, unless room
  // will come.
  void OnNoRoom(uint64_t id);
  // Whether objects of the load have arrived that it has not used.
  bool HasUnused(const Load& load) const;
  // Drops the pin of one load.
  void Unpin(uint64_t id);
  // Whether an object of the load will have room, beside those that are being read, or nothing
  // makes room for it.
  bool HasRoomSoon(LoadId number, const Load& load, uint64_t id) const;
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
  std::unordered_map<uint64_t, size_t> reading_;  // bytes by the ids, which may be gone since
  std::unordered_set<uint64_t> arrived_;          // for loads that have not ended
};

// DiskIntake: takes objects that a store finds into the cache as if they had been inserted: objects
// that an earlier process saved, or that another running process saves. Objects that vanish from
// the store are removed.
//
// Does nothing if the store does not save.
//
// Threads: called by one thread.
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

#endif  // CAIRN_CACHE_DISK_DISK_LOADER_H_
