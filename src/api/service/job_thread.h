// JobThread: one background thread that runs jobs in the order of their arrival.
//
// Threads: any thread may push; jobs run on the background thread.

#ifndef CAIRN_API_SERVICE_JOB_THREAD_H_
#define CAIRN_API_SERVICE_JOB_THREAD_H_

#include <cstddef>
#include <deque>
#include <functional>
#include <thread>

#include "base/mutex.h"

namespace cairn {

class JobThread {
 public:
  // When more than `jobs_max` jobs are queued, the oldest is dropped.
  explicit JobThread(size_t jobs_max);
  ~JobThread() { Stop(); }
  JobThread(const JobThread&) = delete;
  JobThread& operator=(const JobThread&) = delete;

  // Does nothing after Stop.
  void Push(std::function<void()> job);
  // Waits for the running job and drops the queued ones.
  void Stop();
  bool stopping() const {
    const MutexLock lock(mutex_);
    return stopping_;
  }

 private:
  void Run();

  const size_t jobs_max_;
  mutable Mutex mutex_;
  CondVar arrived_;
  std::deque<std::function<void()>> jobs_ GUARDED_BY(mutex_);
  bool stopping_ GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace cairn

#endif  // CAIRN_API_SERVICE_JOB_THREAD_H_
