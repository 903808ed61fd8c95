// SizedDisk: a disk store's folder in which objects are only sizes. The index and the rank of the
// real store choose what is evicted (store/disk/disk_index.h). Writes run in the background and
// take no time; reads advance a clock.
//
// Threads: one.

#ifndef CAIRN_LAB_SIM_SIZED_DISK_H_
#define CAIRN_LAB_SIM_SIZED_DISK_H_

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

  // Writes an object; names of objects evicted for it are appended to `gone`. Returns false if only
  // eviction of more valuable objects would make room.
  bool Write(ObjectHeader header, size_t payload_bytes, std::vector<ObjectName>* gone);
  // Advances the clock by the read. REQUIRES: the object exists.
  void Read(const ObjectName& name);
  // Records a use. REQUIRES: the object exists.
  void Touch(const ObjectName& name);
  // Removes the object, if it exists.
  void Remove(const ObjectName& name) { index_.Erase(model_, name); }

 private:
  int64_t now_ns() const;

  const SizedDiskOptions options_;
  ManualClock* const clock_;
  const std::string model_;
  DiskIndex index_;
  Moved moved_;
};

}  // namespace cairn

#endif  // CAIRN_LAB_SIM_SIZED_DISK_H_
