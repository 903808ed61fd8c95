#include "api/service/job_thread.h"

#include <utility>

#include "base/process/threads.h"

namespace cairn {

JobThread::JobThread(size_t jobs_max) : jobs_max_(jobs_max), thread_([this] { Run(); }) {}

void JobThread::Push(std::function<void()> job) {
  {
    const MutexLock lock(mutex_);
    if (stopping_) return;
    jobs_.push_back(std::move(job));
    if (jobs_.size() > jobs_max_) jobs_.pop_front();
  }
  arrived_.NotifyOne();
}

void JobThread::Stop() {
  {
    const MutexLock lock(mutex_);
    stopping_ = true;
    jobs_.clear();
  }
  arrived_.NotifyOne();
  if (thread_.joinable()) thread_.join();
}

void JobThread::Run() {
  LowerThreadPriority();
  const MutexLock lock(mutex_);
  while (true) {
    arrived_.Wait(mutex_, [this]() REQUIRES(mutex_) { return stopping_ || !jobs_.empty(); });
    if (stopping_) return;
    const auto job = std::move(jobs_.front());
    jobs_.pop_front();
    const MutexUnlock unlocked(mutex_);
    // No one waits for the job; the next request reports that memory is short.
    static_cast<void>(TryWork(job));
  }
}

}  // namespace cairn
