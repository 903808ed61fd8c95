// The loop of the context thread, and what it does for a cache that saves while nobody waits.

#include <algorithm>
#include <limits>
#include <new>
#include <utility>

#include "sched/scheduler.h"

namespace cairn {
namespace {

using Milliseconds = std::chrono::duration<double, std::milli>;

constexpr Milliseconds kTendInterval(250);
// Nothing is lost by waking up for nothing so rarely.
constexpr double kWaitMsMax = 60'000;
// Somebody else may need the memory.
constexpr double kMemoryWaitMsMax = 5'000;

}  // namespace

void Scheduler::Run() {
  while (true) {
    {
      const std::lock_guard lock(mutex_);
      if (stopping_) break;
    }
    try {
      RunOnce();
    } catch (const std::bad_alloc&) {
      RecoverMemory();
    }
  }
  EndIdleWork();
  DoLooks(std::numeric_limits<size_t>::max());
  PausePrefetching();
  if (asleep_) why_asleep_ = "the server is shutting down";
  DoOrders();
  // Whoever was saving one is told no more.
  keeper_.EndAllSaving();
  FailQueued({ErrorCode::kUnavailable, "the server is shutting down"});
}

void Scheduler::RunOnce() {
  WatchMemory();
  DoLooks(1);
  if (HasWork()) {
    EndIdleWork();
    Step();
    SaveWhileBusy();
  } else if (DoIdleWork()) {
    // One chunk of it; there may be a request now.
  } else if (PrefetchNext()) {
    SaveWhileBusy();
  } else if (!Tend(false) && !SleepIfIdle()) {
    WaitForWork();
  }
}

bool Scheduler::DoIdleWork() {
  if (idle_work_ == nullptr) return false;
  if (!idle_work_->Step()) EndIdleWork();
  return true;
}

void Scheduler::EndIdleWork() {
  if (idle_work_ != nullptr) std::exchange(idle_work_, nullptr)->End();
}

// Those in the queue cannot begin while all slots are being saved; the end of that is an order. A
// slot that is read ahead in is free for whoever asks.
bool Scheduler::HasWork() const {
  if (!running_.empty()) return true;
  const bool has_free = keeper_.has_free() || (prefetching_ && prefetching_->slot);
  const std::lock_guard lock(mutex_);
  return (has_free && !queue_.empty()) || !orders_.empty();
}

void Scheduler::WaitForWork() {
  const bool has_free = keeper_.has_free() || (prefetching_ && prefetching_->slot);
  const double until_sleep_ms = UntilSleepMs();
  std::unique_lock lock(mutex_);
  const auto ready = [&] {
    const bool asked = (has_free && !queue_.empty()) || !orders_.empty();
    const bool looks = !looks_.empty() || !posts_.empty();
    return stopping_ || woken_ || prefetch_news_ || asked || looks;
  };
  double wait_ms = std::min(until_sleep_ms, kWaitMsMax);
  // A slot may have been unused for long enough by then, or the disk have caught up; or more may be
  // read ahead.
  if (options_.memory != nullptr) wait_ms = std::min(wait_ms, kMemoryWaitMsMax);
  if (stats_.unsaved_bytes > 0 || prefetching_) wait_ms = std::min(wait_ms, kTendInterval.count());
  arrived_.wait_for(lock, Milliseconds(wait_ms), ready);
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
  const CheckpointCache::SaveStep step = cache_->SaveNext(keeper_.prefill_ms_per_token());
  const bool stored = !step.began && keeper_.StoreUnused(now);
  const uint64_t unsaved_bytes = step.bytes_left + keeper_.UnstoredBytes();
  const auto lag_ms =
      save_lag_.OnUnsaved(unsaved_bytes + cache_->saved_stats().unsynced_bytes, clock_->NowMs());
  const std::lock_guard lock(mutex_);
  stats_.unsaved_bytes = unsaved_bytes;
  if (lag_ms) stats_.save_lags.AddMs(*lag_ms);
  stats_.cache = cache_->stats();
  return step.began || stored;
}

// Copying what slots hold takes the thread for longer, so that waits until there is nothing to do.
void Scheduler::SaveWhileBusy() {
  if (!cache_->saves()) return;
  const double now_ms = clock_->NowMs();
  if (now_ms - saved_ms_ < kTendInterval.count()) return;
  saved_ms_ = now_ms;
  cache_->SaveNext(keeper_.prefill_ms_per_token());
}

bool Scheduler::SaveAll(double ms_max) {
  const double end_ms = clock_->NowMs() + ms_max;
  while (clock_->NowMs() < end_ms) {
    if (Tend(true)) continue;
    if (stats().unsaved_bytes == 0) return true;
    // It may go on for longer than anybody waits for an end.
    if (cache_->saved_stats().refusing) return false;
    // The queue to the disk is full.
    std::unique_lock lock(mutex_);
    arrived_.wait_for(lock, kTendInterval, [this] { return woken_; });
    woken_ = false;
  }
  return false;
}

}  // namespace cairn
