// DiskWriter: writes one object at a time into the disk store's folder: to a temporary file, which
// is synced and renamed. It evicts what must go before.
//
// Threads: the I/O thread.

#ifndef CAIRN_STORE_DISK_DISK_WRITER_H_
#define CAIRN_STORE_DISK_DISK_WRITER_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/fs.h"
#include "base/result.h"
#include "store/codec/codec.h"
#include "store/disk/disk_listing.h"
#include "store/disk/disk_queue.h"

namespace cairn {

// DiskEvictor: holds the disk store's folder to its budget, and the device to its reserve. It
// removes the objects of the lowest rank, of all models, while it holds DIR/lock.
//
// Other processes change the folder meanwhile. So each file is checked once more before it is
// removed, as another process may have used or removed it.
//
// Threads: the I/O thread.
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

class DiskWriter {
 public:
  // An object that is being written to the disk.
  struct Job {
    DiskTask task;
    Bytes front;      // empty until the object is encoded
    Encoded payload;  // without bytes: write those of the task
    int lock_tries = 0;
  };

  // Both outlive it.
  DiskWriter(DiskListing* listing, DiskEvictor* evictor) : listing_(listing), evictor_(evictor) {}

  // Returns nullopt when the job has ended; the events say whether it succeeded. Otherwise returns
  // the number of seconds after which to call it again with the same job.
  std::optional<double> Write(Job* job);
  // Ends the job after an allocation failed, as if the folder had failed.
  void Abort(const Job& job);
  // After a scan. `has_own_folder`: it saw the folder of our model.
  void OnScanned(bool has_own_folder);

  // True if writing is suspended until the next scan.
  bool refusing() const;
  // Objects and bytes written since the start.
  uint64_t written() const { return written_; }
  uint64_t written_bytes() const { return written_bytes_; }

 private:
  // Returns whether the object is there already, whoever wrote it. Removes a bad file in its place.
  // Returns kUnsupported if a newer version's file is there.
  Result<bool> IsThere(const Job& job);
  // Takes over an object that another process wrote since the last scan.
  Result<bool> Adopt(const ObjectName& name, ObjectHeader header, const FileStat& stat);
  void Encode(Job* job) const;
  Status MakeModelFolder();
  std::optional<double> WriteWithRoom(Job* job);
  Status WriteFile(const Job& job);
  Status WriteTemp(const std::string& path, const Job& job);
  Status AppendAll(FileWriter* writer, ByteSpan bytes) const;
  void Failed(const Job& job, const Error& error);
  // As Failed, because the device has no room.
  void FailedFull(const Job& job);
  // As Failed, if the failure is already noted.
  void Missed(const Job& job);
  double SecondsToNextWrite() const;

  DiskListing* const listing_;
  DiskEvictor* const evictor_;
  bool folder_made_ = false;
  int failures_ = 0;  // consecutive failed writes since the last scan
  uint64_t temps_made_ = 0;
  std::optional<int64_t> last_ns_;  // end of the last write
  uint64_t last_bytes_ = 0;         // its size
  uint64_t written_ = 0;
  uint64_t written_bytes_ = 0;
};

}  // namespace cairn

#endif  // CAIRN_STORE_DISK_DISK_WRITER_H_
