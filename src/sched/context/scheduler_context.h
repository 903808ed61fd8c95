// SchedulerContext: the engine, the cache, the slots and the accounts that the parts of the
// scheduler share. Scheduler owns it, and it outlives all of those parts.
//
// Threads: the context thread, except for `stats`, the constants and InterruptIdleWork.

#ifndef CAIRN_SCHED_CONTEXT_SCHEDULER_CONTEXT_H_
#define CAIRN_SCHED_CONTEXT_SCHEDULER_CONTEXT_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "base/clock.h"
#include "cache/checkpoint_cache.h"
#include "engine/engine.h"
#include "policy/answer_pace.h"
#include "sched/answer/schedule_trace.h"
#include "sched/context/scheduler_options.h"
#include "sched/context/scheduler_stats.h"
#include "sched/request/prefill_chunks.h"
#include "sched/request/queue_order.h"
#include "sched/slots/checkpoint_taker.h"
#include "sched/slots/offloader.h"
#include "sched/slots/restorer.h"
#include "sched/slots/slot_archive.h"
#include "sched/slots/slot_mover.h"
#include "sched/slots/slot_pool.h"

namespace cairn {

// Whether prompts are cut at messages with this mode.
bool CutsAtMessages(const MemoryTraits& traits, ReuseMode reuse);
// Returns the gap divisor (CutRules) for a model and a mode: short chunks cost prefill, and distant
// boundaries cost tokens that are prefilled again after an edit.
// docs/decisions/0037-boundary-gaps.md has the measurements.
size_t BoundaryGapDivisor(const MemoryTraits& traits, ReuseMode reuse);
// Returns where prompts are cut into chunks.
CutRules CutRulesOf(const Engine& engine, const SchedulerOptions& options);

// SaveLag: measures how long after an answer a power failure would still lose some of it.
//
//   answer ends      next answer ends      all that is worth keeping is on disk
//   |<------------------------ one lag --------------------->|
//
// Threads: the one that owns the context.
class SaveLag {
 public:
  void OnAnswer(double now_ms) {
    if (!begin_ms_) begin_ms_ = now_ms;
  }

  // `unsaved_bytes`: bytes worth keeping that are not on disk yet. Returns the lag if it ended now.
  std::optional<double> OnUnsaved(uint64_t unsaved_bytes, double now_ms) {
    if (unsaved_bytes > 0 || !begin_ms_) return std::nullopt;
    return now_ms - *std::exchange(begin_ms_, std::nullopt);
  }

 private:
  std::optional<double> begin_ms_;
};

struct SchedulerContext {
  // All three must outlive this object.
  SchedulerContext(Engine* the_engine, CheckpointCache* the_cache, const Clock* the_clock,
                   const SchedulerOptions& the_options);
  SchedulerContext(const SchedulerContext&) = delete;
  SchedulerContext& operator=(const SchedulerContext&) = delete;

  double NowMs() const { return clock->NowMs(); }
  // Updates the cache's clock and applies the disk's events.
  void RefreshCache();
  void Log(LogLevel level, const std::string& line) const;
  // Lets the context thread begin with a request or a command at once. Any thread.
  void InterruptIdleWork() const;
  // The time that computing `tokens` prompt tokens takes, from the measurements so far.
  double PrefillMs(size_t tokens) const;
  // As CheckpointCache::Match; without `reads_disk` only what is in memory.
  CheckpointCache::MatchResult Match(NamespaceId name_space, TokenSpan prompt,
                                     bool reads_disk) const;
  // The most that a prompt waits for the disk: about as long as its prefill would take.
  double DiskWaitMsMax(size_t prompt_tokens) const;
  PromptCuts CutsOf(TokenSpan prompt) const { return {cuts, prompt}; }
  // Returns the first position behind the slot's end where a chunk of the prompt may end for a
  // checkpoint. `of_prompt`: the prompt's cuts.
  size_t FirstStop(const Slot& slot, const PromptCuts& of_prompt) const;
  // Counts a call of the engine that decoded, while so many requests had a slot.
  void CountDecode(size_t requests);
  // The rules for the chunk that begins at the slot's end.
  ChunkRules chunk_rules() const;
  bool exact() const { return options.reuse == ReuseMode::kExact; }

  Engine* const engine;
  CheckpointCache* const cache;
  const Clock* const clock;
  const SchedulerOptions options;
  const CutRules cuts;

  SlotPool pool;
  CheckpointTaker checkpoints;
  Offloader offloader;
  SlotMover mover;
  Restorer restorer;
  SlotArchive archive;
  ScheduleTrace trace;
  FairShares shares;
  const std::unique_ptr<AnswerPace> pace;
  SaveLag save_lag;
  StatsBoard stats;
};

}  // namespace cairn

#endif  // CAIRN_SCHED_CONTEXT_SCHEDULER_CONTEXT_H_
