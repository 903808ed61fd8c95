// DiskFolder: the disk store's operations on its folder, one at a time: scan, write, remove, note
// uses. Its parts do the work:
//
//   DiskScanner  finds files that appeared or disappeared ---+
//   DiskWriter   writes an object ---------------------------+--> DiskListing: index, events
//   DiskEvictor  removes the objects of the lowest rank -----+
//
// The next scan notices what other processes do with the folder meanwhile.
//
// Threads: the I/O thread.

#ifndef CAIRN_STORE_DISK_DISK_FOLDER_H_
#define CAIRN_STORE_DISK_DISK_FOLDER_H_

#include <cstdint>
#include <functional>
#include <optional>

#include "base/fs.h"
#include "store/disk/disk_evictor.h"
#include "store/disk/disk_listing.h"
#include "store/disk/disk_queue.h"
#include "store/disk/disk_scanner.h"
#include "store/disk/disk_store.h"
#include "store/disk/disk_trouble.h"
#include "store/disk/disk_writer.h"

namespace cairn {

class DiskFolder {
 public:
  struct Counts {
    uint64_t written = 0;
    uint64_t written_bytes = 0;
    uint64_t evicted = 0;
  };

  // `fs` and `trouble` outlive it. Long operations stop midway once `stopped` returns true.
  DiskFolder(Fs* fs, const DiskStoreOptions& options, DiskTrouble* trouble,
             std::function<bool()> stopped);

  // Finds the files that appeared and disappeared since the last scan, and evicts if they exceed
  // the budget. Returns false if it does, and another process holds the lock for evicting.
  bool Scan();
  // See DiskWriter.
  std::optional<double> Write(DiskWriter::Job* job) { return writer_.Write(job); }
  void AbortWrite(const DiskWriter::Job& job) { writer_.Abort(job); }
  // Removes the object, unless a newer version's file has taken its place.
  void Remove(const ObjectName& name);
  // Drops an object from the index whose file the reader found corrupt and removed. If another
  // process has written the file again since, it stays and is reported as found.
  void Lost(const ObjectName& name);
  void Touch(const DiskQueue::Touches& touches);
  // Reports a file that appeared since the last scan, and evicts if the folder exceeds its budget.
  void Adopt(const ObjectName& name);

  // See DiskListing.
  void TellFound() { listing_.TellFound(); }
  bool has_untold() const { return listing_.has_untold(); }
  // Returns the events since the last call.
  DiskStore::Events TakeEvents();
  Counts counts() const;
  // True if writing is suspended until the next scan.
  bool refusing() const { return writer_.refusing(); }
  // See DiskBudget.
  uint64_t bytes_max() const { return listing_.budget().bytes_max(); }
  // The size of all known files in the folder.
  uint64_t bytes() const { return listing_.bytes(); }
  // See DiskListing.
  uint64_t other_bytes() const { return listing_.other_bytes(); }
  uint64_t objects() const { return listing_.index().GoodObjects(listing_.own_model()); }

 private:
  DiskListing listing_;
  DiskScanner scanner_;
  DiskEvictor evictor_;
  DiskWriter writer_;
};

}  // namespace cairn

#endif  // CAIRN_STORE_DISK_DISK_FOLDER_H_
