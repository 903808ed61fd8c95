// SchedulerOptions: the settings of a scheduler. The command line sets them (cmd/serve/serve.cc).
//
// Plain data.

#ifndef CAIRN_SCHED_SCHEDULER_OPTIONS_H_
#define CAIRN_SCHED_SCHEDULER_OPTIONS_H_

#include <cstddef>

#include "base/log.h"
#include "base/memory_watch.h"
#include "base/provenance.h"
#include "base/trace_events.h"
#include "cache/resume.h"
#include "sched/answer/request_observer.h"
#include "sched/prefetch/prefetch_budget.h"
#include "sched/upkeep/idle_work.h"

namespace cairn {

struct SchedulerOptions {
  ReuseMode reuse = ReuseMode::kLive;
  // Requests that may wait; more are refused.
  size_t queue_limit = 64;
  // A namespace that waits for a slot for so long gets one of the namespace that holds most of them
  // (sched/queue/admission.h).
  double share_wait_ms = 5000;
  // Of the time, that reading prompts may take while answers are on their way; see TimeShare.
  double prefill_share = 0.5;
  // From its arrival on; then a request ends with kTimedOut. 0: it may take as long as it takes.
  double request_ms_max = 0;
  // See SlotPoolOptions.
  bool keep_ends = true;
  bool offload = true;
  LineageId first_lineage = 0;
  double unused_ms = 2000;
  PrefetchBudgetOptions prefetch = {};
  // At the start and after a sleep, bring prompt prefixes back from a cache that saves into empty
  // slots.
  bool warm_start = false;
  IdleWork* idle_work = nullptr;        // outlives the scheduler; null: none
  RequestObserver* observer = nullptr;  // outlives the scheduler; null: nobody
  // See SlotPoolOptions.
  size_t move_tokens_min = 0;
  size_t beside_tokens_max = 0;
  // An answer that comes to the end of its context goes on (sched/decoder.h). Neither goes
  // with ReuseMode::kExact, and both have no effect where the engine does not shift.
  bool context_shift = false;
  // The engine's model is unloaded when nobody asked for so long (sched/upkeep/idle_unloader.h);
  // negative: never. Then Engine::Sleep must be possible.
  double sleep_after_ms = -1;
  // Looked at now and then; while memory is short the cache holds less (cache/cache_budget.h).
  MemoryWatch* memory = nullptr;  // outlives the scheduler; null: nobody looks
  size_t cache_bytes_max = 0;     // what the cache may hold when nothing is short
  LogSink log = {};               // may be empty
  TraceEvents* trace = nullptr;   // outlives the scheduler; null: nobody
};

}  // namespace cairn

#endif  // CAIRN_SCHED_SCHEDULER_OPTIONS_H_
