// DiskFolder: what the disk store does with its folder, one thing at a time: it looks what is
// there, writes, removes, notes uses, and gives up what is worth least when room is needed.
//
//   Scan ----> DiskIndex: what is there <---- Write, Remove, Touch
//                   |
//                   +---- ToFree: who goes next ----> files are removed, under DIR/lock
//
// What other processes do with the folder meanwhile is learnt by the next Scan, but for what is
// about to be removed: that is looked at once more, as another may have used or removed it.
//
// Threads: called by one thread, the I/O thread.

#ifndef CAIRN_STORE_DISK_DISK_FOLDER_H_
#define CAIRN_STORE_DISK_DISK_FOLDER_H_

#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/fs.h"
#include "base/result.h"
#include "store/codec/codec.h"
#include "store/disk/disk_index.h"
#include "store/disk/disk_queue.h"
#include "store/disk/disk_store.h"
#include "store/disk/disk_trouble.h"

namespace cairn {

class DiskFolder {
 public:
  // An object on its way to the disk.
  struct WriteJob {
    DiskTask task;
    Bytes front;      // empty: it is not encoded yet
    Encoded payload;  // no bytes: the task's own
    int lock_tries = 0;
  };
  struct Counts {
    uint64_t written = 0;
    uint64_t written_bytes = 0;
    uint64_t evicted = 0;
  };

  // `fs` and `trouble` outlive it. When `stopped` says so, what takes long ends in the middle.
  DiskFolder(Fs* fs, const DiskStoreOptions& options, DiskTrouble* trouble,
             std::function<bool()> stopped);

  // Finds what came and what went since the last time. Reads the fronts of new files only.
  void Scan();
  // Returns nothing when it is done, well or not (see News), or else the seconds after which it
  // should be called again with the same job.
  std::optional<double> Write(WriteJob* job);
  // There was no memory in the middle of it: as if the folder had failed.
  void GiveUpWrite(const WriteJob& job);
  // But for a newer version's, which took its place meanwhile.
  void Remove(const ObjectName& name);
  // Its file was bad, and whoever read it removed it. One that another process has put there since
  // stays, and is found.
  void Lost(const ObjectName& name);
  void Touch(const DiskQueue::Touches& touches);

  // Puts the next of what was found into the news, as many as found_bytes_max allows.
  void TellFound();
  bool has_untold() const { return !untold_.empty(); }
  // Since the last call.
  DiskStore::News TakeNews();
  const Counts& counts() const { return counts_; }
  // Nothing is written before the next scan.
  bool refusing() const;
  // Of all files in the folder that are known of.
  uint64_t bytes() const { return index_.bytes() + stray_bytes_; }
  uint64_t objects() const { return index_.GoodObjects(own_model_); }

 private:
  // Found, and not in the news yet.
  struct Untold {
    size_t depth = 0;
    ObjectName name;
    std::optional<ObjectHeader> header;  // nothing: to be read again, as it would take memory
  };
  enum class Room { kMade, kNone, kDeviceFull, kLocked, kFailed };

  std::string PathOf(const std::string& model) const;
  std::string PathOf(const std::string& model, const ObjectName& name) const;
  // It is not there any more; says so if it is ours and was good.
  void Forget(const std::string& model, const ObjectName& name);
  // The whole folder of the model is not there any more.
  void ForgetModel(const std::string& model);
  // A newer version's file is in its place.
  void LeaveToNewer(const ObjectName& name);

  // In disk_scan.cc.
  void ScanModel(const std::string& model);
  void AddFound(const std::string& model, const ObjectName& name);
  // The header of something found; nothing: it is not there any more.
  std::optional<ObjectHeader> HeaderOf(Untold untold);
  // A file that was bad and is another now.
  bool IsMended(const DiskEntry& known) const;
  void ScanTemp(const std::string& model, const std::string& file);

  // In disk_room.cc.
  // Until the budget and the device's reserve hold, with `incoming`, which is in the index, or
  // without. kNone: what there is is worth more. kDeviceFull: ours would fit the budget, but others
  // have filled the device.
  Room MakeRoom(const DiskEntry* incoming);
  // Of the device, that the reserve lacks once `bytes` more are written.
  Result<uint64_t> ReserveLacks(uint64_t bytes) const;
  // Whether all of them are still as the index has them. What is not is set right there.
  bool AreAsKnown(const std::vector<DiskEntry>& entries);
  // Returns the bytes freed.
  uint64_t GiveUp(const std::vector<DiskEntry>& entries);

  // In disk_write.cc.
  // There already, whoever wrote it. A bad file in its place is removed. kUnsupported: a newer
  // version's is there.
  Result<bool> IsThere(const WriteJob& job);
  // Another process wrote it since the last scan.
  Result<bool> Adopt(const ObjectName& name, ObjectHeader header, const FileStat& stat);
  // Makes sure that the names of all objects are on the device.
  Status SyncFound();
  void Encode(WriteJob* job) const;
  Status MakeModelFolder();
  std::optional<double> WriteWithRoom(WriteJob* job);
  Status WriteFile(const WriteJob& job);
  Status WriteTemp(const std::string& path, const WriteJob& job);
  Status AppendAll(FileWriter* writer, ByteSpan bytes) const;
  // After a failure: removes the file, or else counts it as in the way.
  void DropFile(const std::string& path, uint64_t bytes);
  void Failed(const WriteJob& job, const Error& error);
  // ... for want of room on the device.
  void FailedFull(const WriteJob& job);
  // ... of which was spoken already.
  void Missed(const WriteJob& job);
  double SecondsToNextWrite() const;

  Fs* const fs_;
  const DiskStoreOptions options_;
  const std::string own_model_;
  const std::string temp_prefix_;  // of temporary files that only this store makes
  DiskTrouble* const trouble_;
  const std::function<bool()> stopped_;

  DiskIndex index_;
  // Of files that are in the way and no objects: temporary ones, and some that cannot be read.
  uint64_t stray_bytes_ = 0;
  // The last scan saw everything. Else nothing is written: it might burst the budget.
  bool seen_all_ = false;
  bool folder_made_ = false;
  // There are objects whose names may not be on the device yet: another process is about to see to
  // that, or we could not.
  bool found_unsynced_ = false;
  int failures_ = 0;  // of writes, one after the other, since the last scan
  uint64_t temps_made_ = 0;
  std::optional<int64_t> written_ns_;  // the end of the last write
  uint64_t written_bytes_ = 0;         // in it
  std::deque<Untold> untold_;  // shallowest first; some may not be in untold_names_ any more
  std::set<ObjectName> untold_names_;  // not in the news as found, nor as written
  uint64_t untold_bytes_ = 0;          // of the headers in it
  DiskStore::News news_;
  Counts counts_;
};

}  // namespace cairn

#endif  // CAIRN_STORE_DISK_DISK_FOLDER_H_
