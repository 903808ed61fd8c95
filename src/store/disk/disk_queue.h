// DiskQueue: hands the tasks of the disk store's caller to the I/O thread. Writes and removals are
// done in order; touches and adoptions are collected in batches of their own and may be taken at
// any time.
//
//   caller  -- PushWrite, PushRemove, PushTouch -->  | task | task | ... |  -- Take, Done -->  I/O
//
// Threads: as each group of functions says. WaitUntilDone is called by one thread.

#ifndef CAIRN_STORE_DISK_DISK_QUEUE_H_
#define CAIRN_STORE_DISK_DISK_QUEUE_H_

#include <atomic>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <vector>

#include "base/bytes.h"
#include "base/mutex.h"
#include "store/object.h"

namespace cairn {

struct DiskTask {
  ObjectName name;
  // Removes the index entry of a file that was found corrupt and was removed.
  bool lost = false;
  // Scans the folder, and evicts if it exceeds the budget.
  bool scan = false;
  // Set for writes only.
  ObjectHeader header;
  std::shared_ptr<const Bytes> bytes;

  bool is_write() const { return bytes != nullptr; }
};

class DiskQueue {
 public:
  using Touches = std::map<ObjectName, uint64_t>;  // number of uses by name

  explicit DiskQueue(uint64_t bytes_max) : bytes_max_(bytes_max) {}

  // Called by any thread, on behalf of the store's callers.
  // Returns false if there is no room. A task larger than the limit is accepted when nothing else
  // is queued. A queued write of the same object stands for this one too.
  bool PushWrite(DiskTask task);
  // Whether PushWrite takes a write of `bytes`.
  bool HasRoom(uint64_t bytes) const;
  void PushRemove(const ObjectName& name);
  void PushLost(const ObjectName& name);
  void PushScan();
  void PushTouch(const ObjectName& name);
  // Returns when the I/O thread has adopted the file, or false after `ms_max`, or once it stops.
  bool Adopt(const ObjectName& name, double ms_max);
  // Returns false if work is left after `ms_max`, or if the I/O thread has stopped.
  bool WaitUntilDone(double ms_max);

  // Called by the I/O thread.
  // The touches count as unfinished until TouchesDone.
  Touches TakeTouches();
  void TouchesDone();
  std::vector<ObjectName> TakeAdoptions();
  void AdoptionsDone(const std::vector<ObjectName>& names);
  // Returns nullopt if there is no task. REQUIRES: the task taken before is done.
  std::optional<DiskTask> Take();
  // The task has come to its end, which is about to be reported. Who hears that it failed may push
  // it again at once: from now on it stands for no other.
  void Ends(const DiskTask& task);
  void Done(const DiskTask& task);
  // Waits until something is pushed, `seconds` have passed, or the queue is stopped.
  void WaitForWork(double seconds);

  // Called by any thread.
  // Makes WaitForWork return although nothing was pushed.
  void Wake();
  // Size of the unfinished writes, including the current one.
  uint64_t bytes() const;
  void Stop();
  bool stopped() const { return stopped_; }

 private:
  bool Fits(uint64_t bytes) const REQUIRES(mutex_) {
    return bytes_ == 0 || (bytes <= bytes_max_ && bytes_ <= bytes_max_ - bytes);
  }
  void PushWithoutBytes(DiskTask task);
  bool AllDone() const REQUIRES(mutex_) {
    return tasks_.empty() && !taken_ && touches_.empty() && !touching_;
  }

  const uint64_t bytes_max_;
  mutable Mutex mutex_;
  CondVar pushed_;
  CondVar done_;
  std::deque<DiskTask> tasks_ GUARDED_BY(mutex_);
  // Names of the writes in tasks_, and of the current one until Ends.
  std::set<ObjectName> writes_ GUARDED_BY(mutex_);
  Touches touches_ GUARDED_BY(mutex_);
  std::vector<ObjectName> to_adopt_ GUARDED_BY(mutex_);
  // Those of to_adopt_, and those taken and not done.
  std::multiset<ObjectName> adopting_ GUARDED_BY(mutex_);
  bool taken_ GUARDED_BY(mutex_) = false;
  bool touching_ GUARDED_BY(mutex_) = false;  // touches were taken and may be unfinished
  bool events_ GUARDED_BY(mutex_) = false;    // something was pushed since the last wait
  uint64_t bytes_ GUARDED_BY(mutex_) = 0;
  std::atomic<bool> stopped_{false};
};

}  // namespace cairn

#endif  // CAIRN_STORE_DISK_DISK_QUEUE_H_
