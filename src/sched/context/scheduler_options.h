// SchedulerOptions: the settings of a scheduler. The command line sets them (cmd/serve/serve.cc).
//
// Plain data.

#ifndef CAIRN_SCHED_CONTEXT_SCHEDULER_OPTIONS_H_
#define CAIRN_SCHED_CONTEXT_SCHEDULER_OPTIONS_H_

#include <cstddef>

#include "base/log.h"
#include "base/memory_watch.h"
#include "base/process/trace_events.h"
#include "base/tokens.h"
#include "cache/resume.h"
#include "policy/answer_pace.h"
#include "sched/answer/request_observer.h"
#include "sched/draft/drafter.h"
#include "sched/media/encoded_media.h"
#include "sched/request/idle_work.h"
#include "sched/request/prefetch_prompt.h"
#include "sched/request/remote_lookup.h"
#include "sched/slots/slot_pool.h"
#include "tree/prefix_change.h"

namespace cairn {

struct SchedulerOptions {
  ReuseMode reuse = ReuseMode::kLive;
  // The tokens that begin a message; prompts are cut behind them (tree/prompt_cuts.h).
  Tokens message_starts = {};
  // See CutRules::gap_divisor.
  size_t boundary_gap_divisor = 0;
  // `live` may resume where a prompt differs from an earlier one, off the grid (cache/resume.h);
  // not where the model has a sliding window.
  bool leave_grid = false;
  // The most requests that may wait; more are refused.
  size_t queue_limit = 64;
  // After this time without a slot, a waiting namespace gets one of the namespace that holds most
  // of them (sched/queue/admission.h).
  double share_wait_ms = 5000;
  // After this time a paused answer, whose client reads too slowly, gives its slot to any request
  // that waits for one. Less is a client whose thread was not scheduled for a moment.
  double slow_reader_ms = 100;
  // How prefill and answers share the time. REQUIRES: MakeAnswerPace knows it.
  AnswerPaceOptions pace = {};
  DraftOptions drafts = {};
  // The longest time from a request's arrival; then it ends with kTimedOut. 0: no limit.
  double request_ms_max = 0;
  // Rows for the prompts' media; must outlive the scheduler. nullptr: prompts have none.
  EncodedMedia* media = nullptr;
  // Where other servers store states; must outlive the scheduler. nullptr: there is no such store.
  // Has no effect on a cache that does not save.
  RemoteLookup* remote = nullptr;
  SlotOptions slots = {};
  PrefetchBudgetOptions prefetch = {};
  // At the start and after a sleep, preload prompt prefixes into empty slots, from a cache that
  // saves.
  bool warm_start = false;
  IdleWork* idle_work = nullptr;        // must outlive the scheduler; nullptr if there is none
  PrefixWatcher* prefixes = nullptr;    // must outlive the scheduler; nullptr if there is none
  RequestObserver* observer = nullptr;  // must outlive the scheduler; nullptr if there is none
  // An answer that reaches the end of its context continues (sched/steps/decoder.h). This and
  // SlotOptions::move_tokens_min cannot be used with ReuseMode::kExact, and have no effect where
  // the engine does not shift.
  bool context_shift = false;
  // The engine's model is unloaded after this time without a request
  // (sched/idle_unloader.h); negative: never. Requires Engine::Sleep.
  double sleep_after_ms = -1;
  // Polled regularly; while memory is short, the cache holds less (cache/cache_budget.h).
  MemoryWatch* memory = nullptr;  // must outlive the scheduler; nullptr: not watched
  size_t cache_bytes_max = 0;     // the cache's budget when memory is not short
  LogSink log = {};               // may be empty
  TraceEvents* trace = nullptr;   // must outlive the scheduler; nullptr: no trace
};

}  // namespace cairn

#endif  // CAIRN_SCHED_CONTEXT_SCHEDULER_OPTIONS_H_
