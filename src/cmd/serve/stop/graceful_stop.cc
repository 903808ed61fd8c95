#include "cmd/serve/stop/graceful_stop.h"

#include <utility>

namespace cairn {

GracefulStop::GracefulStop(Drain* drain, std::function<void()> stop)
    : drain_(drain), stop_(std::move(stop)) {}

GracefulStop::~GracefulStop() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    stopped_ = true;
  }
  drain_->StopWaiting();
  if (thread_.joinable()) thread_.join();
}

void GracefulStop::Begin(double ms_max) {
  drain_->Stop();
  const std::lock_guard<std::mutex> lock(mutex_);
  if (stopped_ || thread_.joinable()) return;
  thread_ = std::thread([this, ms_max] {
    drain_->WaitForRequests(ms_max);
    Now();
  });
}

bool GracefulStop::Now() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (std::exchange(stopped_, true)) return false;
  }
  drain_->Stop();
  drain_->StopWaiting();
  stop_();
  return true;
}

}  // namespace cairn
