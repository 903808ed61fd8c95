// AnswerReporter: reports text, progress and the end of an answer to the request's client, the
// figures, the observer and the trace.
//
// Threads: the context thread.

#ifndef CAIRN_SCHED_QUEUE_ANSWER_REPORTER_H_
#define CAIRN_SCHED_QUEUE_ANSWER_REPORTER_H_

#include <cstddef>
#include <optional>
#include <string>

#include "base/result.h"
#include "sched/answer/request_observer.h"
#include "sched/context/scheduler_context.h"
#include "sched/request/request_state.h"

namespace cairn {

class AnswerReporter {
 public:
  // The slot that an answer had at its end.
  struct SlotUse {
    std::optional<size_t> slot = {};  // nullopt if it had none
    size_t tokens = 0;                // that the slot held
  };

  // `context` must outlive this object.
  explicit AnswerReporter(SchedulerContext* context) : context_(context) {}

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

  SchedulerContext* const context_;
};

// Returns the reason as one word for the trace.
std::string_view FinishWord(FinishReason reason);

}  // namespace cairn

#endif  // CAIRN_SCHED_QUEUE_ANSWER_REPORTER_H_
