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
  if (context_->options.memory == nullptr) return;
  const double now_ms = context_->NowMs();
  if (now_ms - looked_ms_ < kLookMs) return;
  looked_ms_ = now_ms;
  const MemoryRoom room = context_->options.memory->Look();
  context_->stats.Update(
      [&](SchedulerStats* stats) { stats->memory.left_bytes = room.left_bytes; });
  SetBudget(room, now_ms);
}

void MemoryGovernor::OnFailedAllocation() {
  looked_ms_ = -kLookMs;
  Watch();
}

size_t MemoryGovernor::SetLimit(size_t bytes) {
  budget_.SetAsked(bytes);
  context_->cache->SetNow(context_->NowMs());
  const size_t freed_bytes = context_->cache->SetBudget(budget_.now());
  if (freed_bytes > 0 && context_->options.memory != nullptr) context_->options.memory->GiveBack();
  return freed_bytes;
}

void MemoryGovernor::SetBudget(const MemoryRoom& room, double now_ms) {
  const size_t before = budget_.now();
  const size_t budget = budget_.Next(room, context_->cache->stats().bytes, now_ms);
  if (budget == before) return;
  size_t freed_bytes = 0;
  if (budget < before) {
    context_->cache->SetNow(now_ms);
    freed_bytes = context_->cache->SetBudget(budget);
    context_->options.memory->GiveBack();
  } else {
    context_->cache->SetBudget(budget);
  }
  LogBudget(room, before, freed_bytes);
  context_->stats.Update([&](SchedulerStats* stats) {
    stats->cache = context_->cache->stats();
    if (budget > before) return;
    ++stats->memory.sheddings;
    stats->memory.shed_bytes += freed_bytes;
  });
}

void MemoryGovernor::LogBudget(const MemoryRoom& room, size_t budget_before,
                               size_t freed_bytes) const {
  if (budget_before == budget_.asked()) {
    const std::string left = room.refused ? "an allocation failed" : Mib(room.left_bytes) + " left";
    context_->Log(
        LogLevel::kWarning,
        "memory is short (" + left + " of " + Mib(room.limit_bytes) + ", by " +
            std::string(room.why) + "): the cache evicts " + Mib(freed_bytes) +
            " and holds at most " + Mib(budget_.now()) +
            " until memory is free again; a smaller --cache-ram or --ctx-size frees more");
  } else if (budget_.now() == budget_.asked()) {
    context_->Log(LogLevel::kInfo,
                  "memory is no longer short: the cache has its full budget again");
  }
}

}  // namespace cairn
