// DiskStore: a directory of objects (store/object.h) that outlives the process, and that several
// processes use at once.
//
//   DIR/<fingerprint>/<name>.cairn        an object, written as DIR/<fingerprint>/tmp-… and renamed
//   DIR/lock                              held by the process that is giving objects up
//
// One I/O thread of its own writes, removes, scans and gives up; it works through a queue in order.
// Callers never wait for a disk, but in Read and Drain.
//
// When the directory outgrows its budget, the objects with the least worth are given up, of every
// model. An object's worth fades by half every `half_life_s`; a use adds to it. So that any process
// can compare any two, the whole of it is one number, kept as the file's time: the moment at which
// `uses` would have faded to one,
//
//   time = now + half_life * log2(uses)      with uses = 1 + what is left of the earlier ones
//   rank = log2(worth_ms / bytes) + time / half_life          the least goes first
//
// which is LRFU's combined recency and frequency (Lee et al., IEEE ToC 2001) with one number for
// both. A segment ranks no lower than what begins in it or stands on it. Objects of a newer format
// are another version's, which shares the folder: they count, are never read, and rank by their
// time with the middling worth of all others.
//
// Whatever goes wrong is counted and said once a minute at most, and is a miss: no call here fails
// a request.
//
// Threads: one caller (the context's thread) but for stats().

#ifndef CAIRN_STORE_DISK_DISK_STORE_H_
#define CAIRN_STORE_DISK_DISK_STORE_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/fs.h"
#include "base/log.h"
#include "base/result.h"
#include "base/trace_events.h"
#include "store/object.h"
#include "store/snapshot_store.h"

namespace cairn {

struct DiskStoreOptions {
  std::string folder;
  Fingerprint fingerprint;                     // of the objects that this process reads and writes
  uint64_t bytes_max = uint64_t{32} << 30;     // of all objects in the folder, of every model
  uint64_t reserve_bytes = uint64_t{1} << 30;  // of the device, never taken
  uint64_t queue_bytes_max = uint64_t{1} << 30;
  // Of headers in News::found at once. Those of a full folder hold gigabytes of tokens; the next
  // are told of when these were taken.
  uint64_t found_bytes_max = uint64_t{64} << 20;
  uint64_t write_bytes_per_s = 0;  // 0: as fast as the disk takes them
  Codec codec = Codec::kRaw;
  double half_life_s = 24 * 3600;
  double scan_interval_s = 5;       // for what other processes wrote and gave up
  std::function<int64_t()> now_ns;  // since 1970; the wall clock; called by any thread
  // Called by the I/O thread when there is news, so that the caller may come and take it.
  std::function<void()> wake;
  LogSink log;
  TraceEvents* trace = nullptr;  // outlives the store; null: nobody
};

class DiskStore {
 public:
  // What happened since the last call. Taken in this order it ends as it is: what is found or
  // written, and gone, is gone.
  struct News {
    // Others' objects, and those there at the start; what another needs comes before it. There may
    // be more of them, and then `wake` is called.
    std::vector<ObjectHeader> found;
    std::vector<ObjectName> written;  // that were handed to Write
    std::vector<ObjectName> failed;   // ... and could not be now, as the folder failed
    std::vector<ObjectName> refused;  // ... and need not be offered again: there is no room, say
    std::vector<ObjectName> gone;     // found or written before, and now given up, removed or lost
    // Likewise, with the whole folder: nobody gave them up, so they may be offered again.
    std::vector<ObjectName> vanished;
  };
  using Stats = SavedStats;

  // Starts the I/O thread, which scans first, and waits for that for some seconds, so that the
  // first to ask finds what is there. Never fails: a folder that cannot be used is an error
  // counted, and tried again at the next scan. `fs` outlives the store.
  static std::unique_ptr<DiskStore> Open(Fs* fs, DiskStoreOptions options);
  // Stops without waiting for what is queued; see Drain.
  virtual ~DiskStore() = default;
  // Ends its thread, as the end of the store does: from then on nothing is written or scanned, and
  // `wake` and `log` are not called any more. For whoever is called to go first.
  virtual void Stop() = 0;

  virtual News TakeNews() = 0;
  // False: the queue is full, or the folder failed more than once since the last scan; the object
  // may be offered again later. `bytes` is shared until it is written. An object that is there
  // already is written without touching the disk.
  virtual bool Write(ObjectHeader header, std::shared_ptr<const Bytes> bytes) = 0;
  // The object's bytes, checked and decoded. kNotFound: it is gone. kUnsupported: a newer
  // version's is in its place. kCorrupt: and is removed.
  virtual Result<Bytes> Read(const ObjectName& name) = 0;
  // Counts a use of it.
  virtual void Touch(const ObjectName& name) = 0;
  virtual void Remove(const ObjectName& name) = 0;
  // Waits until all that is queued is done, for at most so long. False: something was left.
  virtual bool Drain(double ms_max) = 0;
  // Any thread.
  virtual SavedStats stats() const = 0;
};

}  // namespace cairn

#endif  // CAIRN_STORE_DISK_DISK_STORE_H_
