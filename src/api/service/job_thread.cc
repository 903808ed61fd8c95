#include "api/service/job_thread.h"

#include <utility>

#include "base/process/try_work.h"
#include "base/thread_priority.h"

namespace cairn {

JobThread::JobThread(size_t jobs_max) : jobs_max_(jobs_max), thread_([this] { Run(); }) {}

void JobThread::Push(std::function<void()> job) {
  {
    const std::lock_guard lock(mutex_);
    if (stopping_) return;
    jobs_.push_back(std::move(job));
    if (jobs_.size() > jobs_max_) jobs_.pop_front();
  }
  arrived_.notify_one();
}

void JobThread::Stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    jobs_.clear();
  }
  arrived_.notify_one();
  if (thread_.joinable()) thread_.join();
}

void JobThread::Run() {
  LowerThreadPriority();
  std::unique_lock lock(mutex_);
  while (true) {
    arrived_.wait(lock, [this] { return stopping_ || !jobs_.empty(); });
    if (stopping_) return;
    const auto job = std::move(jobs_.front());
    jobs_.pop_front();
    lock.unlock();
    // No one waits for the job; the next request reports that memory is short.
    static_cast<void>(TryWork(job));
    lock.lock();
  }
}

}  // namespace cairn
