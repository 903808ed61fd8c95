// DiskFolder: the synchronous operations of the disk store on its folder: scan, write, remove,
// touch, and evict the lowest-ranked objects when room is needed.
//
//   Scan ----> DiskIndex: the known objects <---- Write, Remove, Touch
//                   |
//                   +---- ToFree: eviction order ----> files are removed while DIR/lock is held
//
// Changes by other processes are noticed at the next Scan. Files about to be evicted are checked
// once more, as another process may have used or removed them since.
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
  // An object that is being written to the disk.
  struct WriteJob {
    DiskTask task;
    Bytes front;      // empty until the object is encoded
    Encoded payload;  // without bytes: write those of the task
    int lock_tries = 0;
  };
  struct Counts {
    uint64_t written = 0;
    uint64_t written_bytes = 0;
    uint64_t evicted = 0;
  };

  // `fs` and `trouble` outlive it. Long operations stop midway once `stopped` returns true.
  DiskFolder(Fs* fs, const DiskStoreOptions& options, DiskTrouble* trouble,
             std::function<bool()> stopped);

  // Finds the files that appeared and disappeared since the last scan. Reads only the fronts of new
  // files.
  void Scan();
  // Returns nullopt when the job has ended; the events say whether it succeeded (see News).
  // Otherwise returns the number of seconds after which to call it again with the same job.
  std::optional<double> Write(WriteJob* job);
  // Ends the job after an allocation failed, as if the folder had failed.
  void GiveUpWrite(const WriteJob& job);
  // Removes the object, unless a newer version's file has taken its place.
  void Remove(const ObjectName& name);
  // Drops an object from the index whose file the reader found corrupt and removed. If another
  // process has written the file again since, it stays and is reported as found.
  void Lost(const ObjectName& name);
  void Touch(const DiskQueue::Touches& touches);

  // Moves the next found objects into the events, up to found_bytes_max bytes of headers.
  void TellFound();
  bool has_untold() const { return !untold_.empty(); }
  // Returns the events since the last call.
  DiskStore::News TakeNews();
  const Counts& counts() const { return counts_; }
  // True if writing is suspended until the next scan.
  bool refusing() const;
  // The size of all known files in the folder.
  uint64_t bytes() const { return index_.bytes() + stray_bytes_; }
  uint64_t objects() const { return index_.GoodObjects(own_model_); }

 private:
  // An object that was found and is not in the events yet.
  struct Untold {
    size_t depth = 0;
    ObjectName name;
    std::optional<ObjectHeader> header;  // nullopt if it was dropped to save memory; it is read
                                         // again
  };
  enum class Room { kMade, kNone, kDeviceFull, kLocked, kFailed };

  std::string PathOf(const std::string& model) const;
  std::string PathOf(const std::string& model, const ObjectName& name) const;
  // Drops the object from the index. Reports it as gone if it belongs to our model and was good.
  void Forget(const std::string& model, const ObjectName& name);
  // Drops all objects of a model whose folder has disappeared.
  void ForgetModel(const std::string& model);
  // Records that a newer version's file has taken the object's place.
  void LeaveToNewer(const ObjectName& name);

  // Defined in disk_scan.cc.
  void ScanModel(const std::string& model);
  void AddFound(const std::string& model, const ObjectName& name);
  // Returns the header of a found object; nullopt if the object is gone.
  std::optional<ObjectHeader> HeaderOf(Untold untold);
  // True if a file that was bad has been replaced since.
  bool IsMended(const DiskEntry& known) const;
  void ScanTemp(const std::string& model, const std::string& file);

  // Defined in disk_room.cc.
  // Evicts until the budget and the device's reserve hold, counting `incoming`, which is in the
  // index already, unless it is null. Returns kNone if the present objects rank higher, and
  // kDeviceFull if our objects fit the budget but other files have filled the device.
  Room MakeRoom(const DiskEntry* incoming);
  // Returns how many bytes the device lacks to keep its reserve after `bytes` more are written.
  Result<uint64_t> ReserveLacks(uint64_t bytes) const;
  // Returns whether all files still match the index, and corrects the entries that do not.
  bool AreAsKnown(const std::vector<DiskEntry>& entries);
  // Evicts `entries` and returns the bytes freed.
  uint64_t GiveUp(const std::vector<DiskEntry>& entries);

  // Defined in disk_write.cc.
  // Returns whether the object is there already, whoever wrote it. Removes a bad file in its place.
  // Returns kUnsupported if a newer version's file is there.
  Result<bool> IsThere(const WriteJob& job);
  // Takes over an object that another process wrote since the last scan.
  Result<bool> Adopt(const ObjectName& name, ObjectHeader header, const FileStat& stat);
  // Syncs the folder, so that the names of all objects are on the device.
  Status SyncFound();
  void Encode(WriteJob* job) const;
  Status MakeModelFolder();
  std::optional<double> WriteWithRoom(WriteJob* job);
  Status WriteFile(const WriteJob& job);
  Status WriteTemp(const std::string& path, const WriteJob& job);
  Status AppendAll(FileWriter* writer, ByteSpan bytes) const;
  // Removes the file of a failed write. If that fails, its bytes count as stray bytes.
  void DropFile(const std::string& path, uint64_t bytes);
  void Failed(const WriteJob& job, const Error& error);
  // As Failed, because the device has no room.
  void FailedFull(const WriteJob& job);
  // As Failed, if the failure is already noted.
  void Missed(const WriteJob& job);
  double SecondsToNextWrite() const;

  Fs* const fs_;
  const DiskStoreOptions options_;
  const std::string own_model_;
  const std::string temp_prefix_;  // prefix of this store's temporary files
  DiskTrouble* const trouble_;
  const std::function<bool()> stopped_;

  DiskIndex index_;
  // Bytes of files that occupy room and are not objects: temporary files, and unreadable ones.
  uint64_t stray_bytes_ = 0;
  // True if the last scan saw everything. Otherwise nothing is written, as that might exceed the
  // budget.
  bool seen_all_ = false;
  bool folder_made_ = false;
  // True if the folder may hold objects whose names are not on the device yet: another process has
  // yet to sync the folder, or our sync failed.
  bool found_unsynced_ = false;
  int failures_ = 0;  // consecutive failed writes since the last scan
  uint64_t temps_made_ = 0;
  std::optional<int64_t> written_ns_;  // end of the last write
  uint64_t written_bytes_ = 0;         // size of the last write
  std::deque<Untold> untold_;  // shallowest first; may include objects that are no longer in
                               // untold_names_
  std::set<ObjectName> untold_names_;  // not yet reported as found or written
  uint64_t untold_bytes_ = 0;          // size of the headers in untold_
  DiskStore::News news_;
  Counts counts_;
};

}  // namespace cairn

#endif  // CAIRN_STORE_DISK_DISK_FOLDER_H_
