#include "sched/upkeep/memory_governor.h"

#include <string>

namespace cairn {
namespace {

constexpr double kLookMs = 250;

std::string Mib(uint64_t bytes) {
  return std::to_string(bytes >> 20) + " MiB";
}

}  // namespace

void MemoryGovernor::Watch() {
  if (memory_ == nullptr) return;
  const double now_ms = clock_->NowMs();
  if (now_ms - looked_ms_ < kLookMs) return;
  looked_ms_ = now_ms;
  const MemoryRoom room = memory_->Look();
  stats_->Update([&](SchedulerStats* stats) { stats->memory.left_bytes = room.left_bytes; });
  SetBudget(room, now_ms);
}

void MemoryGovernor::OnFailedAllocation() {
  looked_ms_ = -kLookMs;
  Watch();
}

size_t MemoryGovernor::SetLimit(size_t bytes) {
  budget_.SetAsked(bytes);
  cache_->SetNow(clock_->NowMs());
  const size_t freed_bytes = cache_->SetBudget(budget_.now());
  if (freed_bytes > 0 && memory_ != nullptr) memory_->GiveBack();
  return freed_bytes;
}

void MemoryGovernor::SetBudget(const MemoryRoom& room, double now_ms) {
  const size_t before = budget_.now();
  const size_t budget = budget_.Next(room, cache_->stats().bytes, now_ms);
  if (budget == before) return;
  size_t freed_bytes = 0;
  if (budget < before) {
    cache_->SetNow(now_ms);
    freed_bytes = cache_->SetBudget(budget);
    memory_->GiveBack();
  } else {
    cache_->SetBudget(budget);
  }
  LogBudget(room, before, freed_bytes);
  stats_->Update([&](SchedulerStats* stats) {
    stats->cache = cache_->stats();
    if (budget > before) return;
    ++stats->memory.sheddings;
    stats->memory.shed_bytes += freed_bytes;
  });
}

void MemoryGovernor::LogBudget(const MemoryRoom& room, size_t budget_before,
                               size_t freed_bytes) const {
  if (budget_before == budget_.asked()) {
    const std::string left = room.refused ? "an allocation failed" : Mib(room.left_bytes) + " left";
    LogTo(log_, LogLevel::kWarning,
          "memory is short (" + left + " of " + Mib(room.limit_bytes) + ", by " +
              std::string(room.why) + "): the cache evicts " + Mib(freed_bytes) +
              " and holds at most " + Mib(budget_.now()) +
              " until memory is free again; a smaller --cache-ram or --ctx-size frees more");
  } else if (budget_.now() == budget_.asked()) {
    LogTo(log_, LogLevel::kInfo, "memory is no longer short: the cache has its full budget again");
  }
}

}  // namespace cairn
