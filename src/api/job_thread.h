// JobThread: one thread that does jobs in the order they come, for what nobody waits for.
//
// Threads: any; jobs run on the one thread.

#ifndef CAIRN_API_JOB_THREAD_H_
#define CAIRN_API_JOB_THREAD_H_

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

namespace cairn {

class JobThread {
 public:
  // When more are waiting, the oldest is dropped.
  explicit JobThread(size_t jobs_max);
  ~JobThread() { Stop(); }
  JobThread(const JobThread&) = delete;
  JobThread& operator=(const JobThread&) = delete;

  // After Stop it does nothing.
  void Push(std::function<void()> job);
  // Waits for the job at work, and drops the others.
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

#endif  // CAIRN_API_JOB_THREAD_H_
