#include "cmd/serve/stop/graceful_stop.h"

#include <utility>

#include "base/process/threads.h"

namespace cairn {

GracefulStop::GracefulStop(Drain* drain, std::function<void()> stop)
    : drain_(drain), stop_(std::move(stop)), thread_([this] { Run(); }) {}

GracefulStop::~GracefulStop() {
  {
    const MutexLock lock(mutex_);
    stopped_ = true;
  }
  changed_.NotifyOne();
  drain_->StopWaiting();
  thread_.join();
}

void GracefulStop::Begin(double ms_max) {
  drain_->Stop();
  {
    const MutexLock lock(mutex_);
    if (stopped_ || ms_max_) return;
    ms_max_ = ms_max;
  }
  changed_.NotifyOne();
}

void GracefulStop::Run() {
  double ms_max = 0;
  {
    const MutexLock lock(mutex_);
    changed_.Wait(mutex_, [this]() REQUIRES(mutex_) { return stopped_ || ms_max_; });
    if (!ms_max_) return;
    ms_max = *ms_max_;
  }
  // Whatever fails, the server stops.
  static_cast<void>(TryWork([&] { drain_->WaitForRequests(ms_max); }));
  static_cast<void>(TryWork([this] { Now(); }));
}

bool GracefulStop::Now() {
  {
    const MutexLock lock(mutex_);
    if (std::exchange(stopped_, true)) return false;
  }
  drain_->Stop();
  drain_->StopWaiting();
  stop_();
  return true;
}

}  // namespace cairn
