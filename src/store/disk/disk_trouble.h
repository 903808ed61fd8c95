// DiskTrouble: counts the failures of the disk store's folder and logs them with a remedy. After a
// message it stays silent for one minute, then two, four and so on up to an hour, so that a failing
// disk does not flood the log. It also logs when writing works again.
//
// Threads: any.

#ifndef CAIRN_STORE_DISK_DISK_TROUBLE_H_
#define CAIRN_STORE_DISK_DISK_TROUBLE_H_

#include <cstdint>
#include <functional>
#include <optional>

#include "base/log.h"
#include "base/mutex.h"
#include "base/result.h"

namespace cairn {

class DiskTrouble {
 public:
  struct Counts {
    uint64_t corrupt = 0;
    uint64_t errors = 0;
  };

  // `now_ns` as in DiskStoreOptions.
  DiskTrouble(std::function<int64_t()> now_ns, LogSink log);

  // Counts kCorrupt as corrupt and all other codes as errors. Ignores kNotFound, as a file may
  // disappear at any time.
  void Note(const Error& error);
  // Records a successful write, which ends the failure.
  void NoteWritten();
  Counts counts() const;

 private:
  // Whether logging is suppressed after the last message.
  bool IsQuietAt(int64_t now_ns) const REQUIRES(mutex_);

  const std::function<int64_t()> now_ns_;
  const LogSink log_;
  mutable Mutex mutex_;
  Counts counts_ GUARDED_BY(mutex_);
  std::optional<int64_t> said_ns_ GUARDED_BY(mutex_);
  int64_t quiet_ns_ GUARDED_BY(mutex_) = 0;  // counted from said_ns_
  uint64_t unsaid_ GUARDED_BY(mutex_) = 0;
  // A complaint was logged and nothing was written since.
  bool complained_ GUARDED_BY(mutex_) = false;
};

}  // namespace cairn

#endif  // CAIRN_STORE_DISK_DISK_TROUBLE_H_
