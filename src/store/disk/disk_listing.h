// DiskListing: the files of the disk store's folder as the store knows them, the events that are to
// be reported of them, and the paths and services that its parts share.
//
//   DiskScanner  finds files that appeared or disappeared ---+
//   DiskWriter   writes an object ---------------------------+--> DiskListing: index, events
//   DiskEvictor  removes the objects of the lowest rank -----+
//
// Threads: the I/O thread.

#ifndef CAIRN_STORE_DISK_DISK_LISTING_H_
#define CAIRN_STORE_DISK_DISK_LISTING_H_

#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <set>
#include <string>

#include "base/fs.h"
#include "base/result.h"
#include "store/disk/disk_index.h"
#include "store/disk/disk_limits.h"
#include "store/disk/disk_store.h"

namespace cairn {

class DiskListing {
 public:
  // `fs` and `trouble` outlive it. Long operations stop midway once `stopped` returns true.
  DiskListing(Fs* fs, const DiskStoreOptions& options, DiskTrouble* trouble,
              std::function<bool()> stopped);

  Fs& fs() const { return *fs_; }
  const DiskStoreOptions& options() const { return options_; }
  const DiskBudget& budget() const { return budget_; }
  DiskTrouble& trouble() const { return *trouble_; }
  bool stopped() const { return stopped_(); }
  // The folder name of the model whose objects this process reads and writes.
  const std::string& own_model() const { return own_model_; }
  std::string PathOf(const std::string& model) const;
  std::string PathOf(const std::string& model, const ObjectName& name) const;
  // The prefix of this store's temporary files.
  const std::string& temp_prefix() const { return temp_prefix_; }

  DiskIndex& index() { return index_; }
  const DiskIndex& index() const { return index_; }
  DiskStore::Events& events() { return events_; }
  // Bytes of files that occupy room and are not objects: temporary files, and unreadable ones.
  uint64_t& stray_bytes() { return stray_bytes_; }
  // The size of all known files in the folder.
  uint64_t bytes() const { return index_.bytes() + stray_bytes_; }
  // The part of them that is no object of our model's cache.
  uint64_t other_bytes() const { return bytes() - index_.CacheBytes(own_model_); }
  // True if the last scan saw everything. Otherwise nothing is written, as that might exceed the
  // budget.
  bool& seen_all() { return seen_all_; }
  bool seen_all() const { return seen_all_; }

  // Adds a file that was found, and queues the object for the events if it is our model's.
  void AddFound(const std::string& model, const ObjectName& name);
  // As AddFound, for an object of our model; reports it at once, ahead of the queue.
  void AddFoundNow(const ObjectName& name);
  // Returns true if a file that was bad has been replaced since.
  bool IsMended(const DiskEntry& known) const;
  // Drops the object from the index. Reports it as gone if it belongs to our model and was good.
  void Forget(const std::string& model, const ObjectName& name);
  // Drops all objects of a model whose folder has disappeared.
  void ForgetModel(const std::string& model);
  // Records that a newer version's file has taken the object's place.
  void LeaveToNewer(const ObjectName& name);
  // Removes the file of a failed write. If that fails, its bytes count as stray bytes.
  void DropFile(const std::string& path, uint64_t bytes);

  // Reports the object as written. It is not reported as found any more.
  void ReportWritten(const ObjectName& name);
  // Reports an object of another process at once, ahead of the queue.
  void ReportFound(const ObjectName& name, ObjectHeader header);
  // Sorts the queue of found objects so that an object comes after those that it needs.
  void SortFound();
  // Moves the next found objects into the events, up to found_bytes_max bytes of headers.
  void TellFound();
  bool has_untold() const { return !untold_.empty(); }

  // The folder may hold objects whose names are not on the device yet.
  void MarkUnsynced() { unsynced_ = true; }
  // Fits the budget to the device, and logs when others leave less of it.
  void LookAtDevice();
  // Syncs the folder if it must be, so that the names of all objects are on the device.
  Status Sync();

 private:
  // An object that was found and is not in the events yet.
  struct Untold {
    size_t depth = 0;
    ObjectName name;
    std::optional<ObjectHeader> header;  // nullopt if it was dropped to save memory; it is read
                                         // again
  };

  // Returns the header of a found object; nullopt if the object is gone.
  std::optional<ObjectHeader> HeaderOf(Untold untold);
  // Returns the time of our model's object, nanoseconds since 1970; 0 if it is gone.
  int64_t TimeOf(const ObjectName& name) const;

  Fs* const fs_;
  const DiskStoreOptions options_;
  DiskBudget budget_;
  const std::string own_model_;
  const std::string temp_prefix_;
  DiskTrouble* const trouble_;
  const std::function<bool()> stopped_;

  DiskIndex index_;
  DiskStore::Events events_;
  uint64_t stray_bytes_ = 0;
  bool seen_all_ = false;
  // Another process has yet to sync the folder, or our sync failed.
  bool unsynced_ = false;
  std::deque<Untold> untold_;  // shallowest first; may include objects that are no longer in
                               // untold_names_
  std::set<ObjectName> untold_names_;  // not yet reported as found or written
  uint64_t untold_bytes_ = 0;          // size of the headers in untold_
};

// DiskScanner: finds the files of the disk store's folder that appeared and disappeared since the
// last scan. It reads only the fronts of new files.
//
// Threads: the I/O thread.
class DiskScanner {
 public:
  // `listing` outlives it.
  explicit DiskScanner(DiskListing* listing) : listing_(listing) {}

  // Returns whether it saw the folder of our model; nullopt if it ended early, because the folder
  // could not be listed or the store stops.
  std::optional<bool> Scan();

 private:
  void ScanModel(const std::string& model);
  void ScanTemp(const std::string& model, const std::string& file);

  DiskListing* const listing_;
};

}  // namespace cairn

#endif  // CAIRN_STORE_DISK_DISK_LISTING_H_
