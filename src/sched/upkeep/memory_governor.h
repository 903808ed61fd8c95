// MemoryGovernor: while the machine is short of memory, the cache evicts the objects that are worth
// least, and holds less until there is room again (cache/cache_budget.h).
//
// Threads: the context thread.

#ifndef CAIRN_SCHED_UPKEEP_MEMORY_GOVERNOR_H_
#define CAIRN_SCHED_UPKEEP_MEMORY_GOVERNOR_H_

#include <cstddef>

#include "base/memory_watch.h"
#include "cache/cache_budget.h"
#include "sched/scheduler_context.h"

namespace cairn {

class MemoryGovernor {
 public:
  // `context` outlives it.
  explicit MemoryGovernor(SchedulerContext* context)
      : context_(context), budget_(context->options.cache_bytes_max) {}

  // Looks at the machine's memory, a few times a second at most.
  void Watch();
  // An allocation failed: looks at once.
  void OnFailedAllocation();

 private:
  void SetBudget(const MemoryRoom& room, double now_ms);
  // Logs the first step down, and the last one up; the steps between are in the metrics.
  void LogBudget(const MemoryRoom& room, size_t budget_before, size_t freed_bytes) const;

  SchedulerContext* const context_;
  CacheBudget budget_;
  double looked_ms_ = 0;
};

}  // namespace cairn

#endif  // CAIRN_SCHED_UPKEEP_MEMORY_GOVERNOR_H_
