// JobThread: one background thread that runs jobs in the order of their arrival.
//
// Threads: any thread may push; jobs run on the background thread.

#ifndef CAIRN_API_SERVICE_JOB_THREAD_H_
#define CAIRN_API_SERVICE_JOB_THREAD_H_

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

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
    const std::lock_guard lock(mutex_);
    return stopping_;
  }

 private:
  void Run();

  const size_t jobs_max_;
  mutable std::mutex mutex_;
  std::condition_variable arrived_;
  std::deque<std::function<void()>> jobs_;  // guarded by mutex_
  bool stopping_ = false;                   // guarded by mutex_
  std::thread thread_;
};

}  // namespace cairn

#endif  // CAIRN_API_SERVICE_JOB_THREAD_H_
