// DiskWorker: the disk store without its thread. The caller of Step() acts as the I/O thread, so a
// test can step it deterministically.
//
//   the caller's thread              |  the I/O thread
//   Write, Touch, Remove -> queue  --+-> Step: scan, touches, one task -> DiskFolder
//   TakeEvents              <- events -+-- results
//   Read -> the file itself          |
//
// Threads: as each group of functions says.

#ifndef CAIRN_STORE_DISK_DISK_WORKER_H_
#define CAIRN_STORE_DISK_DISK_WORKER_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/fs.h"
#include "base/mutex.h"
#include "store/disk/disk_limits.h"
#include "store/disk/disk_listing.h"
#include "store/disk/disk_queue.h"
#include "store/disk/disk_store.h"
#include "store/disk/disk_writer.h"

namespace cairn {

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

class DiskWorker {
 public:
  // As DiskStore::Open.
  DiskWorker(Fs* fs, DiskStoreOptions options);

  // Called by the caller's thread: see DiskStore.
  DiskStore::Events TakeEvents();
  bool Write(ObjectHeader header, std::shared_ptr<const Bytes> bytes);
  bool MayWrite(uint64_t bytes) const {
    return !refusing_ && !IsAtLimit() && queue_.HasRoom(bytes);
  }
  Result<Bytes> Read(const ObjectName& name);
  bool Adopt(const ObjectName& name, double ms_max) { return queue_.Adopt(name, ms_max); }
  void Touch(const ObjectName& name) { queue_.PushTouch(name); }
  void Remove(const ObjectName& name) { queue_.PushRemove(name); }
  bool Drain(double ms_max);

  // Called by the I/O thread.
  // Scans if a scan is due; otherwise applies the touches and does one task. Returns the number of
  // seconds until there may be more to do if nothing is pushed before; 0 means at once.
  double Step();
  // As Step. If an allocation fails, drops the current job.
  double TryStep();
  // Steps until Stop.
  void Run();

  // Any thread.
  DiskStore::Stats stats() const;
  void Stop() { queue_.Stop(); }

 private:
  // Whether the bytes of a day are written (DiskStoreOptions::day_bytes_max).
  bool IsAtLimit() const;
  // Counts what was written since the last call, and logs each hour how much it was in a day.
  void CountWritten();
  double SecondsToScan() const;
  double SecondsSinceScan() const;  // since the last one began
  // Whether the next part of the found objects can be reported; see
  // DiskStoreOptions::found_bytes_max.
  bool TellsMore() const;
  bool Scan();
  // Adopts the files that other threads have put into the folder.
  void DoAdoptions();
  // Does the current job. Returns the number of seconds to wait if it cannot be done yet.
  std::optional<double> DoJob();
  // Publishes the results of the last step, and wakes the caller if there are any.
  void Publish();
  // Drops the current job after an allocation failed.
  void DropJob();
  // Reports the result of the current job, which has come to its end.
  void EndJob();

  Fs* const fs_;
  const DiskStoreOptions options_;
  const std::string own_path_;
  DiskTrouble trouble_;
  std::atomic<bool> refusing_{false};  // state of the folder after the last step
  DiskQueue queue_;

  // Used by the caller's thread only.
  uint64_t written_at_drain_ = 0;

  // Used by the I/O thread only.
  DiskFolder folder_;
  std::optional<int64_t> scanned_ns_;
  double scan_wait_s_ = 0;  // from scanned_ns_ to the next scan
  std::optional<DiskWriter::Job> job_;
  int64_t told_hour_ = 0;    // of the last message about what was written, hours since 1970
  bool told_limit_ = false;  // and about the limit of a day

  mutable Mutex mutex_;
  DiskStore::Events events_ GUARDED_BY(mutex_);
  DiskStore::Stats stats_ GUARDED_BY(mutex_);
  WriteLimit limit_ GUARDED_BY(mutex_);
};

}  // namespace cairn

#endif  // CAIRN_STORE_DISK_DISK_WORKER_H_
