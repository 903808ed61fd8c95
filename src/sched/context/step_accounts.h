// StepAccounts: what steps write down: figures, the time that each namespace has used, the time
// that answers are owed, and the trace.
//
// Threads: the context thread, except for `stats`.

#ifndef CAIRN_SCHED_CONTEXT_STEP_ACCOUNTS_H_
#define CAIRN_SCHED_CONTEXT_STEP_ACCOUNTS_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

#include "base/process/trace_events.h"
#include "policy/answer_pace.h"
#include "sched/answer/schedule_trace.h"
#include "sched/context/scheduler_stats.h"
#include "sched/request/queue_order.h"

namespace cairn {

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

struct StepAccounts {
  // `events`: nullptr: no trace. REQUIRES: MakeAnswerPace knows `of_pace`.
  StepAccounts(size_t slots, const AnswerPaceOptions& of_pace, TraceEvents* events)
      : stats(slots), pace(*MakeAnswerPace(of_pace)), trace(events, slots) {}

  // Counts a call of the engine that decoded, while so many requests had a slot.
  void CountDecode(size_t requests) {
    stats.Update([requests](SchedulerStats* now) {
      ++now->decodes.calls;
      now->decodes.requests += requests;
    });
  }

  StatsBoard stats;
  FairShares shares;
  const std::unique_ptr<AnswerPace> pace;
  ScheduleTrace trace;
};

}  // namespace cairn

#endif  // CAIRN_SCHED_CONTEXT_STEP_ACCOUNTS_H_
