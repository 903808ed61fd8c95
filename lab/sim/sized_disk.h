// SizedDisk: a disk store's folder in which objects are only sizes. What goes when room is needed
// is chosen by the index and the rank that choose it in the real one (store/disk/disk_index.h).
// Writing goes on in the background and takes nobody's time; reading moves a clock on.
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
  // Of a plain NVMe drive.
  double read_bytes_per_s = 2e9;
};

class SizedDisk {
 public:
  // Since the start.
  struct Moved {
    uint64_t written_bytes = 0;
    uint64_t read_bytes = 0;
    uint64_t evicted = 0;
  };

  // `clock` outlives it.
  SizedDisk(const SizedDiskOptions& options, ManualClock* clock);

  bool is_there() const { return options_.bytes_max > 0; }
  const Moved& moved() const { return moved_; }
  uint64_t bytes() const { return index_.bytes(); }

  // Names of what went for it are added to `gone`. False: there is no room but for what is worth
  // more.
  bool Write(ObjectHeader header, size_t payload_bytes, std::vector<ObjectName>* gone);
  // REQUIRES: it is there.
  void Read(const ObjectName& name);
  // Notes a use. REQUIRES: it is there.
  void Touch(const ObjectName& name);
  // Nothing happens when it is not there.
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
