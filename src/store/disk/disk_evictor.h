// DiskEvictor: holds the disk store's folder to its budget, and the device to its reserve. It
// removes the objects of the lowest rank, of all models, while it holds DIR/lock.
//
// Other processes change the folder meanwhile. So each file is checked once more before it is
// removed, as another process may have used or removed it.
//
// Threads: the I/O thread.

#ifndef CAIRN_STORE_DISK_DISK_EVICTOR_H_
#define CAIRN_STORE_DISK_DISK_EVICTOR_H_

#include <cstdint>
#include <vector>

#include "base/result.h"
#include "store/disk/disk_listing.h"

namespace cairn {

class DiskEvictor {
 public:
  enum class Room { kMade, kNone, kDeviceFull, kLocked, kFailed };
  // How often, and after how long, a caller that got kLocked tries again.
  static constexpr int kLockTriesMax = 10;
  static constexpr double kLockWaitS = 0.05;

  // `listing` outlives it.
  explicit DiskEvictor(DiskListing* listing) : listing_(listing) {}

  // Evicts until the budget and the device's reserve hold, counting `incoming`, which is in the
  // index already, unless it is null. Returns kNone if the rest is needed or stuck, and
  // kDeviceFull if our objects fit the budget but other files have filled the device.
  Room MakeRoom(const DiskEntry* incoming);
  // Objects evicted since the start.
  uint64_t evicted() const { return evicted_; }

 private:
  // Returns how many bytes the device lacks to keep its reserve after `bytes` more are written.
  Result<uint64_t> ReserveLacks(uint64_t bytes) const;
  // Returns whether all files still match the index, and corrects the entries that do not.
  bool AreAsKnown(const std::vector<DiskEntry>& entries);
  // Removes `entries` and returns the bytes freed.
  uint64_t Evict(const std::vector<DiskEntry>& entries);

  DiskListing* const listing_;
  uint64_t evicted_ = 0;
};

}  // namespace cairn

#endif  // CAIRN_STORE_DISK_DISK_EVICTOR_H_
