// DiskTrouble: counts what goes wrong with the disk store's folder, and says it with what to do:
// at once, then after a minute, two, four, and at last once an hour, so that a disk that fails does
// not fill the log as well. Says too when writing goes on.
//
// Threads: any.

#ifndef CAIRN_STORE_DISK_DISK_TROUBLE_H_
#define CAIRN_STORE_DISK_DISK_TROUBLE_H_

#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>

#include "base/log.h"
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

  // kCorrupt counts as corrupt, kNotFound not at all (a file may vanish at any time), all else as
  // an error.
  void Note(const Error& error);
  // A file was written: what was wrong is over.
  void NoteWritten();
  Counts counts() const;

 private:
  // Of what was said last.
  bool IsQuietAt(int64_t now_ns) const;

  const std::function<int64_t()> now_ns_;
  const LogSink log_;
  mutable std::mutex mutex_;
  Counts counts_;
  std::optional<int64_t> said_ns_;
  int64_t quiet_ns_ = 0;  // from then on
  uint64_t unsaid_ = 0;
  bool complained_ = false;  // and nothing was written since
};

}  // namespace cairn

#endif  // CAIRN_STORE_DISK_DISK_TROUBLE_H_
