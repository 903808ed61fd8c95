// AnswerReporter: reports text, progress and the end of an answer to the request's client, the
// figures, the observer and the trace.
//
// Threads: the context thread.

#ifndef CAIRN_SCHED_QUEUE_ANSWER_REPORTER_H_
#define CAIRN_SCHED_QUEUE_ANSWER_REPORTER_H_

#include <cstddef>
#include <optional>
#include <string>

#include "base/clock.h"
#include "base/result.h"
#include "cache/checkpoint_cache.h"
#include "sched/answer/request_observer.h"
#include "sched/answer/schedule_trace.h"
#include "sched/context/scheduler_stats.h"
#include "sched/context/step_accounts.h"
#include "sched/request/request_state.h"
#include "sched/slots/offloader.h"
#include "sched/slots/slot_pool.h"

namespace cairn {

class AnswerReporter {
 public:
  // The slot that an answer had at its end.
  struct SlotUse {
    std::optional<size_t> slot = {};  // nullopt if it had none
    size_t tokens = 0;                // that the slot held
  };

  // All must outlive this object. `observer`: nullptr if there is none.
  AnswerReporter(const CheckpointCache* cache, const Clock* clock, const SlotPool* pool,
                 const Offloader* offloader, StatsBoard* stats, ScheduleTrace* trace,
                 SaveLag* save_lag, RequestObserver* observer)
      : cache_(cache),
        clock_(clock),
        pool_(pool),
        offloader_(offloader),
        stats_(stats),
        trace_(trace),
        save_lag_(save_lag),
        observer_(observer) {}

  void PushText(RequestState* request, std::string text) const;
  // Reports the log-probabilities of the prompt, if they were requested.
  void PushPrompt(RequestState* request) const;
  // Reports the progress of the prompt. Not repeated when the prompt is computed again after a
  // preemption, nor for the second and later answers.
  void PushProgress(const RequestState& request, size_t slot_tokens) const;
  void Finish(RequestState ended, const SlotUse& use, FinishReason reason) const;
  void Fail(RequestState ended, const SlotUse& use, Error error) const;
  // These end a request that waits in the queue.
  void FinishQueued(RequestState ended, FinishReason reason) const;
  void FailQueued(RequestState ended, Error error) const;

 private:
  void CountFinished(const RequestState& ended, const SlotUse& use) const;
  void Observe(const RequestState& ended, EndedBy ended_by, const SlotUse& use) const;

  const CheckpointCache* const cache_;
  const Clock* const clock_;
  const SlotPool* const pool_;
  const Offloader* const offloader_;
  StatsBoard* const stats_;
  ScheduleTrace* const trace_;
  SaveLag* const save_lag_;
  RequestObserver* const observer_;
};

// Returns the reason as one word for the trace.
std::string_view FinishWord(FinishReason reason);

}  // namespace cairn

#endif  // CAIRN_SCHED_QUEUE_ANSWER_REPORTER_H_
