// What the context thread does when memory is short: the cache gives up what is worth least, and
// holds less until there is room again.

#include <algorithm>
#include <string>

#include "sched/scheduler.h"

namespace cairn {
namespace {

constexpr double kLookMs = 250;

std::string Mib(uint64_t bytes) {
  return std::to_string(bytes >> 20) + " MiB";
}

}  // namespace

void Scheduler::WatchMemory() {
  if (options_.memory == nullptr) return;
  const double now_ms = clock_->NowMs();
  if (now_ms - memory_ms_ < kLookMs) return;
  memory_ms_ = now_ms;
  const MemoryRoom room = options_.memory->Look();
  const size_t before = cache_budget_.now();
  const size_t budget = cache_budget_.Next(room, cache_->held_bytes(), now_ms);
  size_t freed = 0;
  if (budget < before) {
    cache_->SetNow(now_ms);
    freed = cache_->SetBudget(budget);
    options_.memory->GiveBack();
    SayBudget(room, before, freed);
  } else if (budget > before) {
    cache_->SetBudget(budget);
    SayBudget(room, before, 0);
  }
  const std::lock_guard lock(mutex_);
  stats_.memory_left_bytes = room.left_bytes;
  if (budget == before) return;
  stats_.cache = cache_->stats();
  if (budget > before) return;
  ++stats_.sheddings;
  stats_.shed_bytes += freed;
}

// The first step down, and the last one up: what lies between is in the metrics.
void Scheduler::SayBudget(const MemoryRoom& room, size_t before, size_t freed) {
  const size_t asked = cache_budget_.asked();
  if (before == asked) {
    const std::string left = room.refused ? "an allocation failed" : Mib(room.left_bytes) + " left";
    Say(LogLevel::kWarning, "memory is short (" + left + " of " + Mib(room.limit_bytes) + ", by " +
                                std::string(room.why) + "): the cache gives up " + Mib(freed) +
                                " and holds at most " + Mib(cache_budget_.now()) +
                                " until there is room again; a smaller --cache-ram or --ctx-size "
                                "leaves more");
  } else if (cache_budget_.now() == asked) {
    Say(LogLevel::kInfo, "memory is not short any more: the cache may hold what it was given");
  }
}

void Scheduler::RecoverMemory() {
  Say(LogLevel::kError,
      "there is no memory left: all requests at work fail, and slots are emptied");
  const Error error = {ErrorCode::kUnavailable,
                       "the server has no memory left; try again later, or send less"};
  prefetching_.reset();
  while (!running_.empty()) FailTask(&running_.front(), error);
  for (size_t slot = 0; !asleep_ && slot < engine_->slots(); ++slot) {
    keeper_.EmptyAfterFailure(slot);
  }
  memory_ms_ = -kLookMs;
  WatchMemory();
  const std::lock_guard lock(mutex_);
  ++stats_.memory_failures;
}

}  // namespace cairn
