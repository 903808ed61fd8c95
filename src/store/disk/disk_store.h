// DiskStore: a directory of objects (store/object.h) that outlives the process and that several
// processes share.
//
//   DIR/<fingerprint>/<name>.cairn        an object, written as DIR/<fingerprint>/tmp-… and renamed
//   DIR/lock                              held by the process that is evicting
//
// The store's own I/O thread writes, removes, scans and evicts; it works through a queue in order.
// Other threads read (store/disk/disk_reader.h), so that a read does not wait behind writes.
// Callers never wait for the disk, except in Read and Drain.
//
// The cache evicts what is worth least to it, from memory and disk alike (cache/disk/evictor.h),
// and so keeps the objects of its own model within the room that there is for them. Where the
// directory exceeds its budget nevertheless, because of other models or processes, the objects with
// the lowest rank are evicted, across all models, but never for an object that needs them. An
// object's worth halves every `half_life_s`, and each use adds to it. Both are kept in one number,
// the file's modification time, so that every process can compare any two objects. It is the moment
// at which `uses` would have decayed to one:
//
//   time = now + half_life * log2(uses)      with uses = 1 + the decayed number of earlier uses
//   rank = log2(worth_ms / bytes) + time / half_life          the lowest rank is evicted first
//
// This is LRFU's combined recency and frequency (Lee et al., IEEE ToC 2001) in a single number. A
// segment ranks no lower than the objects that begin in it or depend on it. Objects of a newer
// format belong to a newer version that shares the folder: they count towards the budget, are never
// read, and are ranked by their time and the median worth of all others.
//
// Every failure is counted, logged at most once a minute, and treated as a miss: no call here fails
// a request.
//
// Threads: one caller (the context thread). Write, Read and Touch may be called by any thread, with
// the events going to that one caller; so may stats().

#ifndef CAIRN_STORE_DISK_DISK_STORE_H_
#define CAIRN_STORE_DISK_DISK_STORE_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "base/fs.h"
#include "base/log.h"
#include "base/process/trace_events.h"
#include "base/result.h"
#include "store/object.h"
#include "store/snapshot_store.h"

namespace cairn {

struct DiskStoreOptions {
  std::string folder;
  Fingerprint fingerprint;  // of the objects that this process reads and writes
  // Budget for all objects in the folder, of every model; nullopt for one that fits the device
  // (store/disk/disk_limits.h).
  std::optional<uint64_t> bytes_max = {};
  uint64_t reserve_bytes = uint64_t{1} << 30;  // free space of the device that is never used
  uint64_t queue_bytes_max = uint64_t{1} << 30;
  // Limit for the headers in one News::found. The headers of a full folder take gigabytes, mostly
  // tokens; the remaining ones are reported after these were taken.
  uint64_t found_bytes_max = uint64_t{64} << 20;
  uint64_t write_bytes_per_s = 0;  // 0: as fast as the disk allows
  uint64_t day_bytes_max = 0;      // the most to write in 24 hours; 0: no limit
  Codec codec = Codec::kRaw;
  double half_life_s = 24 * 3600;
  // Scans notice what other processes wrote and evicted. After one that took long the next waits a
  // hundred times as long, but at most scan_interval_s_max, so that a slow network or a large
  // folder is not listed all the time.
  double scan_interval_s = 1;
  double scan_interval_s_max = 5;
  std::function<int64_t()> now_ns;  // wall clock, nanoseconds since 1970; called by any thread
  // Called by the store's threads when there are events, so that the caller takes them.
  std::function<void()> wake;
  // Called by the I/O thread for each object that this store wrote, and for each use of one. Both
  // may be empty; neither may wait.
  std::function<void(const ObjectHeader&)> on_written = {};
  std::function<void(const ObjectName&)> on_used = {};
  LogSink log;
  TraceEvents* trace = nullptr;  // outlives the store; may be null
  // A failure that the caller met in the folder: logged and counted as one of the store's own.
  std::optional<Error> trouble = {};
};

class DiskStore {
 public:
  struct Written {
    ObjectName name;
    uint64_t bytes = 0;  // size of the file
    friend bool operator==(const Written&, const Written&) = default;
  };
  // Events since the last call. To be applied in this order: an object that was found or written
  // and is also gone, is gone.
  struct Events {
    // Objects of other processes, and those present at the start; an object comes after those that
    // it needs. There may be more of them, in which case `wake` is called.
    std::vector<ListedObject> found;
    std::vector<Written> written;     // passed to Write, and now on disk
    std::vector<ObjectName> failed;   // passed to Write, and not written because the folder failed;
                                      // may be offered again
    std::vector<ObjectName> refused;  // passed to Write, and not worth offering again, as there is
                                      // no room, for example
    std::vector<ObjectName> gone;     // found or written before, and now evicted, removed or lost
    // Gone together with the whole folder. They were not evicted, so they may be offered again.
    std::vector<ObjectName> vanished;
    // The results of StartRead, with the errors of Read.
    std::vector<std::pair<ObjectName, Result<Bytes>>> read;
  };
  using Stats = SavedStats;

  // Starts the I/O thread, which scans first, and waits a few seconds for that scan, so that the
  // first request finds what is on disk. Never fails: an unusable folder counts as an error and is
  // tried again at the next scan. `fs` outlives the store.
  static std::unique_ptr<DiskStore> Open(Fs* fs, DiskStoreOptions options);
  // Stops without waiting for queued work; see Drain.
  virtual ~DiskStore() = default;
  // Stops the threads, as the destructor does: afterwards nothing is written or scanned, and
  // `wake` and `log` are not called. For an owner whose callbacks are destroyed before the store.
  virtual void Stop() = 0;

  virtual Events TakeEvents() = 0;
  // Returns false if the queue is full, or if the folder failed more than once since the last scan;
  // the object may be offered again later. `bytes` is shared until it is written. An object that
  // exists already counts as written without touching the disk.
  virtual bool Write(ObjectHeader header, std::shared_ptr<const Bytes> bytes) = 0;
  // Whether Write takes `bytes` now: the queue has room, the folder takes files, and the limit of a
  // day is not reached.
  virtual bool MayWrite(uint64_t bytes) const = 0;
  // Returns the object's bytes, checked and decoded. Returns kNotFound if it is gone, kUnsupported
  // if a newer version's file is in its place, and kCorrupt, after removing the file, if it is bad.
  virtual Result<Bytes> Read(const ObjectName& name) = 0;
  // As Read, without waiting: the result comes with the events.
  virtual void StartRead(const ObjectName& name) = 0;
  // The caller has put the object's file into the folder (store/disk/disk_files.h): looks at it
  // now, and not at the next scan, and evicts if the folder exceeds its budget. Waits for that, at
  // most `ms_max`. Returns false if it took longer or the store has stopped; otherwise the object
  // is in the events, unless its file is bad. Any thread.
  virtual bool Adopt(const ObjectName& name, double ms_max) = 0;
  // Counts a use of the object.
  virtual void Touch(const ObjectName& name) = 0;
  virtual void Remove(const ObjectName& name) = 0;
  // Waits until all queued work is done, for at most `ms_max`. Returns false if some is left. If
  // something was written since the last call, the folder is scanned too, so that it is within its
  // budget whatever other processes wrote meanwhile.
  virtual bool Drain(double ms_max) = 0;
  // Any thread.
  virtual SavedStats stats() const = 0;
};

}  // namespace cairn

#endif  // CAIRN_STORE_DISK_DISK_STORE_H_
