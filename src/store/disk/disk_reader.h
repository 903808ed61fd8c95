// DiskReader: threads that read objects. Reads begin in the order in which they were requested, and
// may end in another.
//
// Reading is more than waiting for a disk: an object is decompressed and its checksum is verified.
// So while one request waits for its states, two threads bring them twice as fast.
//
// Threads: one caller; `read` and `wake` are called by the reader's own threads.

#ifndef CAIRN_STORE_DISK_DISK_READER_H_
#define CAIRN_STORE_DISK_DISK_READER_H_

#include <cstddef>
#include <deque>
#include <functional>
#include <thread>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "base/mutex.h"
#include "base/result.h"
#include "store/object.h"

namespace cairn {

class DiskReader {
 public:
  using Results = std::vector<std::pair<ObjectName, Result<Bytes>>>;

  // `wake`: called after each read; may be empty. What `read` throws is kUnavailable. Runs fewer
  // threads where the system starts no more, and throws std::system_error where it starts none.
  DiskReader(size_t threads, std::function<Result<Bytes>(const ObjectName&)> read,
             std::function<void()> wake);
  DiskReader(const DiskReader&) = delete;
  DiskReader& operator=(const DiskReader&) = delete;
  ~DiskReader() { Stop(); }

  void Start(const ObjectName& name);
  // The results since the last call.
  Results TakeResults();
  // Waits for the reads that are under way, and drops the others.
  void Stop();

 private:
  void Run();
  void Report(const ObjectName& name, Result<Bytes>* bytes);

  const std::function<Result<Bytes>(const ObjectName&)> read_;
  const std::function<void()> wake_;
  Mutex mutex_;
  CondVar changed_;
  std::deque<ObjectName> to_read_ GUARDED_BY(mutex_);
  Results results_ GUARDED_BY(mutex_);
  bool stopped_ GUARDED_BY(mutex_) = false;

  std::vector<std::thread> threads_;  // last: they use the members above
};

}  // namespace cairn

#endif  // CAIRN_STORE_DISK_DISK_READER_H_
