// SnapshotStore: where the bytes of snapshots live. This is the header of store/ that others
// include; each store is a file of its own behind it. A store decides nothing: what to keep and
// what to give up is the cache's affair.
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

// Given out by the cache, never used twice.
using SnapshotId = uint64_t;

// Of what a store has saved: counts since the start, and what is there now.
struct SavedStats {
  uint64_t objects = 0;  // that this process can use
  uint64_t bytes = 0;    // of all there are
  uint64_t bytes_max = 0;
  uint64_t written = 0;
  uint64_t written_bytes = 0;
  uint64_t read = 0;
  uint64_t read_bytes = 0;
  uint64_t evicted = 0;
  uint64_t corrupt = 0;         // that did not say what they should
  uint64_t errors = 0;          // refusals of the file system
  uint64_t unsynced_bytes = 0;  // on their way
  bool refusing = false;        // nothing can be written just now, and is tried again by itself
};

class SnapshotStore {
 public:
  virtual ~SnapshotStore() = default;
  // What holding `bytes` takes of a budget. A store that writes fewer than it is given, or only
  // plays at holding them, says so here.
  virtual size_t BytesFor(ByteSpan bytes) const { return bytes.size(); }
  // Takes over `bytes`. kUnavailable: this store keeps nothing.
  // REQUIRES: `id` is not held.
  virtual Status Put(SnapshotId id, Bytes bytes) = 0;
  // The bytes of `id`, valid until it is erased, released or unloaded. kNotFound: they are gone.
  virtual Result<std::span<const uint8_t>> Get(SnapshotId id) = 0;
  // Counts a use of it, where stores weigh uses.
  virtual void Use(SnapshotId /*id*/) {}
  // Where it is saved too, that goes as well. Nothing happens when `id` is not held.
  virtual void Erase(SnapshotId id) = 0;
  // Of all that is in memory, as BytesFor counts it.
  virtual size_t bytes() const = 0;

  // The rest is of stores that save; the others save nothing and have no news.

  struct News {
    std::vector<ObjectHeader> found;  // parents before what begins in them, where both are new
    std::vector<SnapshotId> lost;     // were saved only, and are gone
  };
  virtual bool saves() const { return false; }
  // Begins to save what is in memory. False: not now, as too much is being saved already or nothing
  // can be. What could not be saved for a reason that may pass is kUnsaved again.
  // REQUIRES: kUnsaved.
  virtual bool Save(SnapshotId /*id*/, const ObjectHeader& /*header*/) { return false; }
  enum class Place {
    kUnsaved,  // in memory only
    kSaving,   // in memory, and on its way
    kRefused,  // in memory; saving it was tried, and is not worth trying again
    kBoth,
    kSavedOnly,
  };
  virtual Place PlaceOf(SnapshotId /*id*/) const { return Place::kUnsaved; }
  // Gives up the memory; what is on its way stays readable, and costs memory until it is there.
  // REQUIRES: kBoth or kSaving.
  virtual void Release(SnapshotId /*id*/) {}
  // What Get had to read may leave memory again. Nothing happens when it had not.
  virtual void Unload(SnapshotId /*id*/) {}
  virtual News TakeNews() { return {}; }
  // `name`, which was found, is `id` from now on: a new one, or one in memory.
  virtual void Adopt(SnapshotId /*id*/, const ObjectName& /*name*/) {}
  // Of something saved or being saved; nothing where it is not known.
  virtual std::optional<SnapshotId> Find(const ObjectName& /*name*/) const { return std::nullopt; }
  virtual ObjectName NameOf(SnapshotId /*id*/) const { return {}; }
  // Any thread.
  virtual SavedStats saved_stats() const { return {}; }
};

class DiskStore;

// Each with its file.
std::unique_ptr<SnapshotStore> MakeRamStore();
std::unique_ptr<SnapshotStore> MakeNoneStore();
// In memory, and on disk what is saved. `disk` outlives it.
std::unique_ptr<SnapshotStore> MakeTieredStore(DiskStore* disk);

}  // namespace cairn

#endif  // CAIRN_STORE_SNAPSHOT_STORE_H_
