// MemoryGovernor: shrinks the cache while the machine is short of memory, evicting the objects of
// least value, and lets it grow again later (cache/cache_budget.h).
//
// Threads: the context thread.

#ifndef CAIRN_SCHED_UPKEEP_MEMORY_GOVERNOR_H_
#define CAIRN_SCHED_UPKEEP_MEMORY_GOVERNOR_H_

#include <cstddef>
#include <utility>

#include "base/clock.h"
#include "base/log.h"
#include "base/memory_watch.h"
#include "cache/cache_budget.h"
#include "cache/checkpoint_cache.h"
#include "sched/context/scheduler_stats.h"

namespace cairn {

class MemoryGovernor {
 public:
  // All must outlive this object. `memory`: nullptr: not watched. `cache_bytes_max`: the cache's
  // budget when memory is not short.
  MemoryGovernor(CheckpointCache* cache, const Clock* clock, StatsBoard* stats, MemoryWatch* memory,
                 size_t cache_bytes_max, LogSink log)
      : cache_(cache),
        clock_(clock),
        stats_(stats),
        memory_(memory),
        log_(std::move(log)),
        budget_(cache_bytes_max) {}

  // Polls the machine's memory, at most a few times per second.
  void Watch();
  // Replaces the configured budget of the cache, in bytes; evicts at once what exceeds it. Returns
  // the number of bytes that left memory.
  size_t SetLimit(size_t bytes);
  // Polls at once, because an allocation failed.
  void OnFailedAllocation();

 private:
  void SetBudget(const MemoryRoom& room, double now_ms);
  // Logs the first reduction and the final recovery; the steps between are in the metrics.
  void LogBudget(const MemoryRoom& room, size_t budget_before, size_t freed_bytes) const;

  CheckpointCache* const cache_;
  const Clock* const clock_;
  StatsBoard* const stats_;
  MemoryWatch* const memory_;
  const LogSink log_;
  CacheBudget budget_;
  double looked_ms_ = 0;
};

}  // namespace cairn

#endif  // CAIRN_SCHED_UPKEEP_MEMORY_GOVERNOR_H_
