// The loop of the context thread, and what it does for a cache that saves while nobody waits.

#include "sched/scheduler.h"

namespace cairn {
namespace {

constexpr std::chrono::milliseconds kTendInterval(250);

}  // namespace

void Scheduler::Run() {
  while (true) {
    {
      const std::lock_guard lock(mutex_);
      if (stopping_) break;
    }
    if (HasWork()) {
      Step();
      SaveWhileBusy();
    } else if (WarmNext()) {
      SaveWhileBusy();
    } else if (!Tend(false)) {
      WaitForWork();
    }
  }
  PauseWarming();
  DoOrders();
  // Whoever was saving one is told no more.
  keeper_.EndAllSaving();
  {
    const std::lock_guard lock(mutex_);
    for (Task& task : queue_) running_.push_back(std::move(task));
    queue_.clear();
  }
  while (!running_.empty()) {
    FailTask(&running_.front(), {ErrorCode::kUnavailable, "the server is shutting down"});
  }
}

// Those in the queue cannot begin while all slots are being saved; the end of that is an order.
bool Scheduler::HasWork() const {
  if (!running_.empty()) return true;
  const bool has_free = keeper_.has_free();
  const std::lock_guard lock(mutex_);
  return (has_free && !queue_.empty()) || !orders_.empty();
}

void Scheduler::WaitForWork() {
  const bool has_free = keeper_.has_free();
  std::unique_lock lock(mutex_);
  const auto ready = [&] {
    return stopping_ || woken_ || warm_news_ || (has_free && !queue_.empty()) || !orders_.empty();
  };
  if (stats_.unsaved_bytes > 0 || warming_) {
    // A slot may have been unused for long enough by then, or the disk have caught up; or more may
    // be read ahead.
    arrived_.wait_for(lock, kTendInterval, ready);
  } else {
    arrived_.wait(lock, ready);
  }
  woken_ = false;
}

void Scheduler::Wake() {
  {
    const std::lock_guard lock(mutex_);
    woken_ = true;
  }
  arrived_.notify_one();
}

bool Scheduler::Tend(bool now) {
  if (!cache_->saves()) return false;
  cache_->TakeNews();
  const CheckpointCache::SaveStep step = cache_->SaveNext(keeper_.read_ms_per_token());
  const bool stored = !step.began && keeper_.StoreUnused(now);
  const std::lock_guard lock(mutex_);
  stats_.unsaved_bytes = step.bytes_left + keeper_.UnstoredBytes();
  stats_.cache = cache_->stats();
  return step.began || stored;
}

// Copying what slots hold takes the thread for longer, so that waits until there is nothing to do.
void Scheduler::SaveWhileBusy() {
  if (!cache_->saves()) return;
  const double now_ms = clock_->NowMs();
  if (now_ms - saved_ms_ < static_cast<double>(kTendInterval.count())) return;
  saved_ms_ = now_ms;
  cache_->SaveNext(keeper_.read_ms_per_token());
}

bool Scheduler::SaveAll(double ms_max) {
  const double end_ms = clock_->NowMs() + ms_max;
  while (clock_->NowMs() < end_ms) {
    if (Tend(true)) continue;
    if (stats().unsaved_bytes == 0) return true;
    // The queue to the disk is full.
    std::unique_lock lock(mutex_);
    arrived_.wait_for(lock, kTendInterval, [this] { return woken_; });
    woken_ = false;
  }
  return false;
}

}  // namespace cairn
