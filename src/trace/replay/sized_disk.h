// SizedDisk: a disk store's folder in which objects are only sizes. What the cache does not evict
// in time is chosen by the index and the rank of the real store (store/disk/disk_index.h). Writes
// run in the background, through a queue of limited size; reads advance a clock.
//
// Threads: one.

#ifndef CAIRN_TRACE_REPLAY_SIZED_DISK_H_
#define CAIRN_TRACE_REPLAY_SIZED_DISK_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/clock.h"
#include "store/disk/disk_index.h"
#include "store/object.h"

namespace cairn {

struct SizedDiskOptions {
  uint64_t bytes_max = 0;  // 0: there is no disk
  // The speed of an ordinary NVMe drive.
  double read_bytes_per_s = 2e9;
  double write_bytes_per_s = 1e9;
  uint64_t queue_bytes_max = uint64_t{1} << 30;
};

class SizedDisk {
 public:
  // Totals since the start.
  struct Moved {
    uint64_t written_bytes = 0;
    uint64_t read_bytes = 0;
    uint64_t evicted = 0;
  };

  // `clock` outlives the disk.
  SizedDisk(const SizedDiskOptions& options, ManualClock* clock);

  bool is_there() const { return options_.bytes_max > 0; }
  const Moved& moved() const { return moved_; }
  uint64_t bytes() const { return index_.bytes(); }
  uint64_t bytes_max() const { return options_.bytes_max; }

  // Writes an object; names of objects evicted for it are appended to `gone`. Returns false if only
  // eviction of more valuable objects would make room.
  bool Write(ObjectHeader header, size_t payload_bytes, std::vector<ObjectName>* gone);
  // Whether the queue has room for `bytes`.
  bool MayWrite(uint64_t bytes) const;
  // Advances the clock by the read. REQUIRES: the object exists.
  void Read(const ObjectName& name);
  // Records a use. REQUIRES: the object exists.
  void Touch(const ObjectName& name);
  // Removes the object, if it exists.
  void Remove(const ObjectName& name) { index_.Erase(model_, name); }

 private:
  int64_t now_ns() const;
  // When all that is queued is written, if `bytes` are queued behind it now.
  double WrittenMs(uint64_t bytes) const;

  const SizedDiskOptions options_;
  ManualClock* const clock_;
  const std::string model_;
  DiskIndex index_;
  Moved moved_;
  double written_ms_ = 0;  // when all that is queued is written
};

}  // namespace cairn

#endif  // CAIRN_TRACE_REPLAY_SIZED_DISK_H_
