// DiskQueue: what the disk store's caller wants done, handed over to the I/O thread. Writes and
// removals are done in order; touches wait in a batch of their own and are taken at any time.
//
//   caller  -- PushWrite, PushRemove, PushTouch -->  | task | task | ... |  -- Take, Done -->  I/O
//
// Threads: the calls under "the caller's" and "the I/O thread's" by one thread each; bytes() and
// Stop() by any.

#ifndef CAIRN_STORE_DISK_DISK_QUEUE_H_
#define CAIRN_STORE_DISK_DISK_QUEUE_H_

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>

#include "base/bytes.h"
#include "store/object.h"

namespace cairn {

struct DiskTask {
  ObjectName name;
  // Its file was found bad, and is removed: the I/O thread is to know.
  bool lost = false;
  // Of a write; a removal has none.
  ObjectHeader header;
  std::shared_ptr<const Bytes> bytes;

  bool is_write() const { return bytes != nullptr; }
};

class DiskQueue {
 public:
  using Touches = std::map<ObjectName, uint64_t>;  // how often each

  explicit DiskQueue(uint64_t bytes_max) : bytes_max_(bytes_max) {}

  // The caller's.
  // False: there is no room. One that is larger than all the room gets in when nothing else waits.
  // A write that waits already stands for this one too.
  bool PushWrite(DiskTask task);
  void PushRemove(const ObjectName& name);
  void PushLost(const ObjectName& name);
  void PushTouch(const ObjectName& name);
  // False: not all was done within `ms_max`, or never will be, as the I/O thread has stopped.
  bool WaitUntilDone(double ms_max);

  // The I/O thread's.
  // Until TouchesDone they count as not done.
  Touches TakeTouches();
  void TouchesDone();
  // Nothing: there is no task. REQUIRES: what was taken before is done.
  std::optional<DiskTask> Take();
  void Done(const DiskTask& task);
  // Returns when there is something new to be done, after so many seconds, or when stopped.
  void WaitForWork(double seconds);

  // Any thread.
  // WaitForWork returns, although nothing was pushed.
  void Wake();
  // Of writes that are not done, the one at work among them.
  uint64_t bytes() const;
  void Stop();
  bool stopped() const { return stopped_; }

 private:
  void PushWithoutBytes(DiskTask task);
  bool AllDone() const { return tasks_.empty() && !taken_ && touches_.empty() && !touching_; }

  const uint64_t bytes_max_;
  mutable std::mutex mutex_;
  std::condition_variable pushed_;
  std::condition_variable done_;
  std::deque<DiskTask> tasks_;
  std::set<ObjectName> writes_;  // names of those in tasks_, and of the one at work
  Touches touches_;
  bool taken_ = false;
  bool touching_ = false;  // touches were taken and may not be done yet
  bool news_ = false;      // pushed since the last wait
  uint64_t bytes_ = 0;
  std::atomic<bool> stopped_{false};
};

}  // namespace cairn

#endif  // CAIRN_STORE_DISK_DISK_QUEUE_H_
