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
#include "sched/answer/reuse_report.h"
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

// The requests that have not ended.
struct OpenRequests {
  size_t running = 0;
  size_t waiting = 0;
  size_t loading = 0;   // of `waiting`: their states are being read from disk
  size_t fetching = 0;  // of `waiting`: their states are looked up in a remote store, or fetched
};

// Tokens of the requests that have ended, and how long they took.
struct TokenStats {
  uint64_t prompt = 0;
  uint64_t reused = 0;  // of `prompt`
  uint64_t generated = 0;
  double prompt_ms = 0;
  double generated_ms = 0;
};

// Calls of the engine: chunks of prompts, and batches of next tokens.
struct DecodeStats {
  uint64_t calls = 0;
  uint64_t requests = 0;  // with a slot, summed over these calls
};

struct LatencyStats {
  SecondsHistogram queue;        // from arrival to a free slot
  SecondsHistogram first_token;  // from arrival to the first token
  // Time to restore state that no slot held, by slowest tier. From disk: with reading it.
  SecondsHistogram ram_restore;
  SecondsHistogram disk_restore;
  SecondsHistogram save_lag;  // see SaveLag; empty where nothing is saved
};

struct PrefetchStats {
  uint64_t tokens = 0;       // computed before a request asked for them
  uint64_t used_tokens = 0;  // the part that requests continued from
};

struct MemoryStats {
  size_t left_bytes = 0;   // memory that this process might still use; 0: not measured
  uint64_t sheddings = 0;  // times the cache dropped objects because memory was short
  uint64_t shed_bytes = 0;
  uint64_t failures = 0;  // times a failed allocation failed all running requests
};

struct SleepStats {
  uint64_t count = 0;  // times the model was unloaded
  double wake_ms = 0;  // total time of loading it again
  bool asleep = false;
};

// Figures since the start; `media`, and from `saved` on, of now.
struct SchedulerStats {
  uint64_t requests = 0;
  uint64_t failed = 0;     // not counted in `requests`
  uint64_t refused = 0;    // because the queue was full
  uint64_t preempted = 0;  // because slots or cells were needed
  // Requests that waited for another to compute their common prefix although a slot was free.
  uint64_t waited_for_prefix = 0;
  PromptSources prompt_sources;
  TokenStats tokens;
  LatencyStats latencies;
  DecodeStats decodes;
  std::array<DraftStats, kDraftSources> drafts = {};  // by DraftSource
  DraftModelStats draft_model;
  EncodedMediaStats media;
  PrefetchStats prefetch;
  MemoryStats memory;
  SleepStats sleep;
  size_t slot_tokens_max = 0;  // the most that a slot has held
  size_t unsaved_bytes = 0;    // approximate bytes worth saving whose save has not begun
  SlotCounters slot_counters;
  CacheStats cache;
  SavedStats saved;
  RemoteFigures remote;
  std::vector<SlotStats> slots;
  OpenRequests open;
};

class StatsBoard {
 public:
  explicit StatsBoard(size_t slots) { stats_.slots.resize(slots); }

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
