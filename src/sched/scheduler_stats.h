// SchedulerStats: the figures of a scheduler, for /metrics, /slots and the log; and StatsBoard,
// which carries them from the context thread to whoever asks.
//
// Threads: StatsBoard may be used from any.

#ifndef CAIRN_SCHED_SCHEDULER_STATS_H_
#define CAIRN_SCHED_SCHEDULER_STATS_H_

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <utility>
#include <vector>

#include "base/histogram.h"
#include "cache/cache_stats.h"
#include "sched/answer/prompt_sources.h"
#include "sched/slots/slot_pool.h"
#include "store/snapshot_store.h"

namespace cairn {

// What one slot does.
struct SlotStats {
  size_t tokens = 0;  // that it holds
  bool busy = false;
  // Of the request at work, when busy.
  size_t prompt_tokens = 0;
  size_t generated_tokens = 0;
};

// Since the start; the last four are of now.
struct SchedulerStats {
  uint64_t requests = 0;
  uint64_t failed = 0;   // not among the requests
  uint64_t refused = 0;  // for want of room in the queue
  PromptSources prompt_sources;
  SecondsHistogram queue_times;        // until a slot was free
  SecondsHistogram first_token_times;  // from the arrival on
  // Of going back to what was not in a slot, by the slowest tier.
  SecondsHistogram ram_restore_times;
  SecondsHistogram disk_restore_times;
  SecondsHistogram save_lags;  // see SaveLag; none where nothing is saved
  uint64_t prompt_tokens = 0;
  uint64_t reused_tokens = 0;
  uint64_t generated_tokens = 0;
  uint64_t preempted = 0;  // slots, for want of room, in the middle of a request
  // Requests that let another read what both begin with although there was a slot for them.
  uint64_t waited_for_prefix = 0;
  uint64_t prefetched_tokens = 0;       // read before anyone asked
  uint64_t prefetched_used_tokens = 0;  // of these, that requests went on behind
  size_t memory_left_bytes = 0;         // what this process might still use; 0: nobody has looked
  uint64_t sheddings = 0;               // times that the cache gave things up as memory was short
  uint64_t shed_bytes = 0;
  uint64_t memory_failures = 0;  // times that all at work failed for want of memory
  size_t unsaved_bytes = 0;  // about so many are worth saving and not on their way to a disk yet
  double prompt_ms = 0;
  double generated_ms = 0;
  uint64_t sleeps = 0;  // times the model was unloaded
  double wake_ms = 0;   // of loading it again, all times together
  SlotCounters slot_counters;
  CacheStats cache;
  SavedStats saved;  // of now
  bool sleeping = false;
  std::vector<SlotStats> slots;
  size_t running = 0;
  size_t waiting = 0;
};

class StatsBoard {
 public:
  // `change` gets the figures while nobody else reads or changes them; it must not call StatsBoard.
  template <typename Change>
  void Update(Change change) {
    const std::lock_guard lock(mutex_);
    change(&stats_);
  }
  SchedulerStats Read() const {
    const std::lock_guard lock(mutex_);
    return stats_;
  }
  size_t unsaved_bytes() const {
    const std::lock_guard lock(mutex_);
    return stats_.unsaved_bytes;
  }

 private:
  mutable std::mutex mutex_;
  SchedulerStats stats_;  // guarded by mutex_
};

}  // namespace cairn

#endif  // CAIRN_SCHED_SCHEDULER_STATS_H_
