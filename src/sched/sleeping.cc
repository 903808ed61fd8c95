// What happens while nobody asks anything for long: the engine unloads its model, and loads it
// again when somebody does.
//
//   idle for sleep_after_ms ─> offload what the slots hold ─> Engine::Sleep
//   a request or an order   ─> Engine::Wake ─> goes on as ever: what it needs is in the cache
//
// Where the model does not load again, whoever waits is told so, and the next one tries anew.

#include <algorithm>
#include <array>
#include <cstdio>
#include <limits>
#include <string>
#include <utility>

#include "sched/scheduler.h"

namespace cairn {
namespace {

std::string Seconds(double ms) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.1f s", ms / 1000);
  return text.data();
}

}  // namespace

double Scheduler::UntilSleepMs() const {
  if (options_.sleep_after_ms < 0 || asleep_) return std::numeric_limits<double>::infinity();
  return std::max(0.0, busy_ms_ + options_.sleep_after_ms - clock_->NowMs());
}

bool Scheduler::SleepIfIdle() {
  const double now_ms = clock_->NowMs();
  if (keeper_.saving() || HasWork()) busy_ms_ = now_ms;
  if (UntilSleepMs() > 0) return false;
  if (prefetching_) EndPrefetching();
  cache_->SetNow(now_ms);
  TraceSpan span(options_.trace, "unload");
  size_t offloaded = 0;
  for (size_t slot = 0; slot < engine_->slots(); ++slot) {
    if (keeper_.slot(slot).tokens().empty()) continue;
    keeper_.OffloadAndClear(slot);
    ++offloaded;
  }
  // Tried again when it was idle for as long anew.
  busy_ms_ = now_ms;
  if (Status slept = engine_->Sleep(); !slept) {
    Say(LogLevel::kWarning, "the model stays loaded: " + slept.error().message);
    return false;
  }
  asleep_ = true;
  span.End();
  trace_.OnSleep(true);
  Say(LogLevel::kInfo, "asleep: no request for " + Seconds(options_.sleep_after_ms) +
                           ", so the model is unloaded; " + std::to_string(offloaded) +
                           " slots were parked, and the cache stays");
  PublishSlots();
  const std::lock_guard lock(mutex_);
  stats_.sleeping = true;
  ++stats_.sleeps;
  stats_.keeper = keeper_.stats();
  stats_.cache = cache_->stats();
  stats_.unsaved_bytes = keeper_.UnstoredBytes();
  return true;
}

bool Scheduler::WakeEngine() {
  const double begin_ms = clock_->NowMs();
  Say(LogLevel::kInfo, "a request came: the model is loaded again");
  TraceSpan span(options_.trace, "load");
  if (Status woken = engine_->Wake(); !woken) {
    why_asleep_ = "the model was unloaded while nobody asked, and cannot be loaded again: " +
                  woken.error().message;
    Say(LogLevel::kError, why_asleep_);
    return false;
  }
  asleep_ = false;
  span.End();
  trace_.OnSleep(false);
  headers_.reset();
  why_asleep_.clear();
  busy_ms_ = clock_->NowMs();
  Say(LogLevel::kInfo, "awake after " + Seconds(busy_ms_ - begin_ms));
  const std::lock_guard lock(mutex_);
  stats_.sleeping = false;
  stats_.wake_ms += busy_ms_ - begin_ms;
  return true;
}

bool Scheduler::WakeForWork() {
  if (!HasWork()) return false;
  if (WakeEngine()) return true;
  DoOrders();  // each hears why it is not done
  FailQueued({ErrorCode::kUnavailable, why_asleep_});
  return false;
}

void Scheduler::FailQueued(const Error& error) {
  {
    const std::lock_guard lock(mutex_);
    for (Task& task : queue_) running_.push_back(std::move(task));
    queue_.clear();
  }
  while (!running_.empty()) FailTask(&running_.front(), error);
}

void Scheduler::Say(LogLevel level, const std::string& line) const {
  if (options_.log) options_.log(level, line);
}

}  // namespace cairn
