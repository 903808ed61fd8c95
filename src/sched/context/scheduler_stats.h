// SchedulerStats: the figures of a scheduler, for /metrics, /slots and the log. StatsBoard carries
// them from the context thread to other threads.
//
// Threads: StatsBoard may be used from any.

#ifndef CAIRN_SCHED_CONTEXT_SCHEDULER_STATS_H_
#define CAIRN_SCHED_CONTEXT_SCHEDULER_STATS_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "base/histogram.h"
#include "base/mutex.h"
#include "cache/objects/cache_stats.h"
#include "sched/answer/prompt_sources.h"
#include "sched/draft/drafter.h"
#include "sched/media/encoded_media.h"
#include "sched/request/remote_lookup.h"
#include "sched/slots/slot_pool.h"
#include "store/snapshot_store.h"

namespace cairn {

// The present state of one slot.
struct SlotStats {
  size_t tokens = 0;  // that the slot holds
  bool busy = false;
  // Tokens of the running request, if busy.
  size_t prompt_tokens = 0;
  size_t generated_tokens = 0;
};

// Drafted tokens of one source.
struct DraftStats {
  uint64_t drafted_tokens = 0;  // that were verified
  uint64_t accepted_tokens = 0;
  uint64_t verified = 0;  // drafts
};

// The draft model's part of the answers' texts.
struct DraftModelStats {
  uint64_t prefilled_tokens = 0;
  uint64_t reused_tokens = 0;  // that its slots and its prefix cache had
};

// Figures since the start; from `saved` on, of now.
struct SchedulerStats {
  uint64_t requests = 0;
  uint64_t failed = 0;   // not counted in `requests`
  uint64_t refused = 0;  // because the queue was full
  PromptSources prompt_sources;
  SecondsHistogram queue_times;        // from arrival to a free slot
  SecondsHistogram first_token_times;  // from arrival to the first token
  // Time to restore state that no slot held, by slowest tier. From disk: with reading it.
  SecondsHistogram ram_restore_times;
  SecondsHistogram disk_restore_times;
  SecondsHistogram save_lags;  // see SaveLag; empty where nothing is saved
  uint64_t prompt_tokens = 0;
  uint64_t reused_tokens = 0;
  uint64_t generated_tokens = 0;
  uint64_t decodes = 0;  // calls of the engine: chunks of prompts, and batches of next tokens
  uint64_t decode_requests = 0;  // requests with a slot, summed over these calls
  size_t slot_tokens_max = 0;    // the most that a slot has held
  std::array<DraftStats, kDraftSources> drafts = {};  // by DraftSource
  DraftModelStats draft_model;
  EncodedMediaStats media;  // of now
  uint64_t preempted = 0;   // requests preempted because slots or cells were needed
  // Requests that waited for another to compute their common prefix although a slot was free.
  uint64_t waited_for_prefix = 0;
  uint64_t prefetched_tokens = 0;       // computed before a request asked for them
  uint64_t prefetched_used_tokens = 0;  // the part that requests continued from
  size_t memory_left_bytes = 0;         // memory that this process might still use; 0: not measured
  uint64_t sheddings = 0;               // times the cache dropped objects because memory was short
  uint64_t shed_bytes = 0;
  uint64_t memory_failures = 0;  // times a failed allocation failed all running requests
  size_t unsaved_bytes = 0;      // approximate bytes worth saving whose save has not begun
  double prompt_ms = 0;
  double generated_ms = 0;
  uint64_t sleeps = 0;  // times the model was unloaded
  double wake_ms = 0;   // total time of loading it again
  SlotCounters slot_counters;
  CacheStats cache;
  SavedStats saved;      // of now
  RemoteFigures remote;  // of now
  bool sleeping = false;
  std::vector<SlotStats> slots;
  size_t running = 0;
  size_t waiting = 0;
  size_t loading = 0;   // of `waiting`: their states are being read from disk
  size_t fetching = 0;  // of `waiting`: their states are looked up in a remote store, or fetched
};

class StatsBoard {
 public:
  // Calls `change` with the figures under the lock. `change` must not call StatsBoard.
  template <typename Change>
  void Update(Change change) {
    const MutexLock lock(mutex_);
    change(&stats_);
  }
  SchedulerStats Read() const {
    const MutexLock lock(mutex_);
    return stats_;
  }
  size_t unsaved_bytes() const {
    const MutexLock lock(mutex_);
    return stats_.unsaved_bytes;
  }

 private:
  mutable Mutex mutex_;
  SchedulerStats stats_ GUARDED_BY(mutex_);
};

}  // namespace cairn

#endif  // CAIRN_SCHED_CONTEXT_SCHEDULER_STATS_H_
