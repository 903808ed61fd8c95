// HeapTrim: returns the memory of large requests to the system. An allocator keeps what was freed
// for later, and the text, the JSON and the tokens of one request take many times its bytes.
//
//   a request of 14 MB ends ──> wait for others that end then ──> trim ──> not again for a while
//
// It has a thread of its own, so that no request waits.
//
// Threads: any.

#ifndef CAIRN_HTTP_HEAP_TRIM_H_
#define CAIRN_HTTP_HEAP_TRIM_H_

#include <chrono>
#include <cstddef>
#include <functional>
#include <thread>

#include "base/memory_watch.h"
#include "base/mutex.h"

namespace cairn {

struct HeapTrimOptions {
  size_t request_bytes_min = size_t{1} << 20U;  // of a request that is large
  std::chrono::milliseconds delay{1'000};       // from the end of a large request
  std::chrono::milliseconds interval{10'000};   // the least time between two trims
  std::function<void()> trim = ReturnFreedMemory;
};

class HeapTrim {
 public:
  explicit HeapTrim(HeapTrimOptions options = {});
  // Waits for a trim in progress.
  ~HeapTrim();
  HeapTrim(const HeapTrim&) = delete;
  HeapTrim& operator=(const HeapTrim&) = delete;

  // A request that moved so many bytes has ended. Does not wait.
  void OnRequestEnd(size_t bytes) noexcept;

 private:
  void Run();

  const HeapTrimOptions options_;
  Mutex mutex_;
  CondVar changed_;
  bool wanted_ GUARDED_BY(mutex_) = false;
  bool stopping_ GUARDED_BY(mutex_) = false;
  std::thread thread_;  // last: it uses all others
};

}  // namespace cairn

#endif  // CAIRN_HTTP_HEAP_TRIM_H_
