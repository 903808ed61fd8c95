// SnapshotStore: holds the bytes of snapshots, in memory or on disk. This is the only header of
// store/ that other folders need for storage; the store with a disk is in folder/tiered_store.cc. A
// store has no policy: the cache decides what is stored and what is evicted.
//
// Threads: called by one thread.

#ifndef CAIRN_STORE_SNAPSHOT_STORE_H_
#define CAIRN_STORE_SNAPSHOT_STORE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "store/object.h"

namespace cairn {

// Reads of StartRead that a store does at a time. Bytes that were read and not taken in yet are in
// no budget, so there are few.
inline constexpr size_t kReadsAtOnce = 2;

// Assigned by the cache and never reused.
using SnapshotId = uint64_t;

// Statistics of the disk tier: counters since the start, and the present sizes.
struct SavedStats {
  uint64_t objects = 0;  // usable by this process
  uint64_t bytes = 0;    // size of all objects in the folder
  uint64_t bytes_max = 0;
  uint64_t other_bytes = 0;  // of `bytes`: files of other models, and files that are no objects
  uint64_t written = 0;
  uint64_t written_bytes = 0;
  uint64_t day_bytes = 0;      // of written_bytes: in the last 24 hours
  uint64_t day_bytes_max = 0;  // their limit; 0: none
  bool at_day_limit = false;   // nothing more is written, because of the limit of a day
  uint64_t read = 0;
  uint64_t read_bytes = 0;
  uint64_t evicted = 0;
  uint64_t corrupt = 0;         // objects whose content was not valid
  uint64_t errors = 0;          // calls that the file system refused
  uint64_t unsynced_bytes = 0;  // queued for writing
  bool refusing = false;        // writes fail at present; the store retries on its own

  // Whether waiting for what is unsaved is useless.
  bool takes_nothing() const { return refusing || at_day_limit; }
};

// An object that was found on disk.
struct ListedObject : ObjectHeader {
  // When it was last used or written, nanoseconds since 1970; later by a half-life for each
  // doubling of its uses (store/disk/disk_index.h).
  int64_t used_ns = 0;
};

class SnapshotStore {
 public:
  virtual ~SnapshotStore() = default;
  // Returns how much of a budget holding `bytes` takes. A store that writes fewer bytes than it is
  // given, or that only simulates holding them, overrides this.
  virtual size_t BytesFor(ByteSpan bytes) const { return bytes.size(); }
  // Takes ownership of `bytes`. Returns kUnavailable if this store keeps nothing. REQUIRES: `id` is
  // not held.
  virtual Status Put(SnapshotId id, Bytes bytes) = 0;
  // Returns the bytes of `id`, valid until it is erased, released or unloaded. Returns kNotFound if
  // they are gone.
  virtual Result<std::span<const uint8_t>> Get(SnapshotId id) = 0;
  // Counts a use of `id`, in stores whose eviction order depends on uses.
  virtual void Use(SnapshotId /*id*/) {}
  // Removes `id` from memory and from disk. Does nothing if `id` is not held.
  virtual void Erase(SnapshotId id) = 0;
  // The size of all that is in memory, as BytesFor counts it.
  virtual size_t bytes() const = 0;

  // The following functions are for stores that save to disk. The defaults save nothing and report
  // no events.

  struct Arrived {
    SnapshotId id = 0;
    size_t bytes = 0;
  };
  struct Events {
    std::vector<ListedObject> found;  // a parent comes before objects that begin in it, if both are
                                      // new
    std::vector<SnapshotId> lost;     // were on disk only, and are gone
    // The results of StartRead. The bytes that arrived are not counted in bytes(), and stay until
    // KeepRead or Unload.
    std::vector<Arrived> arrived;
    std::vector<SnapshotId> unreadable;
  };
  virtual bool saves() const { return false; }
  // Starts saving what is in memory. Returns false if that is not possible now, because too much is
  // being saved already or the folder cannot be written. If saving fails for a reason that may
  // pass, the place becomes kUnsaved again. REQUIRES: kUnsaved.
  virtual bool Save(SnapshotId /*id*/, const ObjectHeader& /*header*/) { return false; }
  // Whether Save takes `bytes` now.
  virtual bool MaySave(size_t /*bytes*/) const { return false; }
  // The size on disk of the objects of this store that are saved or being saved, and the room there
  // is for them.
  virtual uint64_t saved_bytes() const { return 0; }
  virtual uint64_t saved_bytes_max() const { return 0; }
  enum class Place {
    kUnsaved,  // in memory only
    kSaving,   // in memory, and queued for writing
    kRefused,  // in memory; saving was tried and is not worth a retry
    kBoth,
    kSavedOnly,
  };
  virtual Place PlaceOf(SnapshotId /*id*/) const { return Place::kUnsaved; }
  // Frees the memory. What is still queued for writing stays readable and occupies memory until it
  // is written. REQUIRES: kBoth or kSaving.
  virtual void Release(SnapshotId /*id*/) {}
  // Frees the memory that Get loaded from disk. Does nothing if Get loaded nothing.
  virtual void Unload(SnapshotId /*id*/) {}
  // Begins to read the bytes on another thread. Each call has a result in Events, unless the object
  // is erased before, so a store that saves overrides it. REQUIRES: kSavedOnly.
  virtual void StartRead(SnapshotId /*id*/) {}
  // Keeps bytes that arrived in memory; the place becomes kBoth. REQUIRES: they arrived, and were
  // not unloaded.
  virtual void KeepRead(SnapshotId /*id*/) {}
  virtual Events TakeEvents() { return {}; }
  // Binds `id` to the object that was reported as found. `id` is either new or in memory.
  virtual void Adopt(SnapshotId /*id*/, const ObjectHeader& /*header*/) {}
  // Returns the id of an object that is saved or being saved; nullopt if there is none.
  virtual std::optional<SnapshotId> Find(const ObjectName& /*name*/) const { return std::nullopt; }
  virtual ObjectName NameOf(SnapshotId /*id*/) const { return {}; }
  // Any thread.
  virtual SavedStats saved_stats() const { return {}; }
};

class DiskStore;

std::unique_ptr<SnapshotStore> MakeRamStore();
std::unique_ptr<SnapshotStore> MakeNoneStore();
// Keeps snapshots in memory, and saved ones on disk as well. `disk` outlives the store.
std::unique_ptr<SnapshotStore> MakeTieredStore(DiskStore* disk);

}  // namespace cairn

#endif  // CAIRN_STORE_SNAPSHOT_STORE_H_
