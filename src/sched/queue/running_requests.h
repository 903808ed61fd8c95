// RunningRequests: the requests that were admitted and have not ended, in the order of arrival.
// Adds and ends requests, and preempts one when its slot or its cells are needed.
//
// A client that reads its answer more slowly than it grows pauses it: nothing more is decoded, the
// slot keeps its content, and another request that wants the slot gets it soon
// (sched/queue/admission.h). The answer goes on when the client has read half of what waits for it.
//
// Threads: the context thread.

#ifndef CAIRN_SCHED_QUEUE_RUNNING_REQUESTS_H_
#define CAIRN_SCHED_QUEUE_RUNNING_REQUESTS_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "cache/checkpoint_cache.h"
#include "engine/engine.h"
#include "sched/answer/schedule_trace.h"
#include "sched/context/scheduler_stats.h"
#include "sched/queue/answer_reporter.h"
#include "sched/queue/request_queue.h"
#include "sched/request/request_state.h"
#include "sched/slots/offloader.h"
#include "sched/slots/slot_pool.h"

namespace cairn {

class RunningRequests {
 public:
  // All must outlive this object.
  RunningRequests(Model* model, const CheckpointCache* cache, const Clock* clock, SlotPool* pool,
                  Offloader* offloader, StatsBoard* stats, ScheduleTrace* trace,
                  RequestQueue* queue, const AnswerReporter& answer_reporter)
      : model_(model),
        cache_(cache),
        clock_(clock),
        pool_(pool),
        offloader_(offloader),
        stats_(stats),
        trace_(trace),
        queue_(queue),
        answer_reporter_(answer_reporter) {}

  bool empty() const { return requests_.empty(); }
  size_t size() const { return requests_.size(); }
  std::list<RunningRequest>& all() { return requests_; }
  const std::list<RunningRequest>& all() const { return requests_; }
  // Whether an answer is to be decoded.
  bool has_decoding() const;
  // Whether a request is not paused.
  bool has_unpaused() const;
  // Whether a request, queued ones included, waits for its client to read.
  bool has_paused() const { return has_paused_; }
  // Prompt tokens still to compute, summed over all requests with a slot.
  size_t unprefilled_tokens() const;
  size_t slot_tokens(const RunningRequest& request) const;
  // The number of the last admission; numbers count from 1.
  uint64_t last_admission() const { return last_admission_; }
  // Returns nullptr if that request is no longer running.
  const RunningRequest* FindAdmission(uint64_t admission) const;

  // Adds a request that leaves the queue to get a slot. Returns nullptr if it was cancelled and has
  // ended.
  RunningRequest* Admit(RequestState queued);

  // These end a request or return it to the queue. The pointer dangles afterwards.
  void Finish(RunningRequest* request, FinishReason reason);
  void Fail(RunningRequest* request, Error error);
  void FailAll(const Error& error);
  // Ends the queued and running requests for which `leaves` holds. `leaves` must not keep its
  // argument.
  void FailIf(const std::function<bool(const RequestState&)>& leaves, const Error& error);
  // Ends the requests that were cancelled, and those that make room in the queue.
  void EndLeaving();
  // Pauses the answers whose clients are behind, and ends the pauses of the others, queued ones
  // too.
  void UpdatePauses();
  // Stores the state of the request's slot and puts the request first in the queue. `for_share`:
  // its slot goes to a namespace that has none. Then, and if it is paused, it has no precedence
  // over the others in the queue.
  void Preempt(RunningRequest* request, bool for_share);
  // The slots together hold more than the context. Empties a free slot, or preempts a paused
  // request, or the one that arrived last; `request` tries again in the next step. If `request` is
  // the only one and no slot is being saved, it fails.
  void PreemptForRoom(RunningRequest* request);

  const AnswerReporter& answer_reporter() const { return answer_reporter_; }
  // Copies the contents and the work of the slots to the figures.
  void PublishSlots();

 private:
  // Frees the request's slot. `why`: one word for the trace.
  RequestState Remove(RunningRequest* request, std::string_view why);
  // As Remove, and publishes the figures without it.
  RequestState End(RunningRequest* request, std::string_view why);
  void CountForTrace(const std::vector<SlotStats>& slots);

  Model* const model_;
  const CheckpointCache* const cache_;
  const Clock* const clock_;
  SlotPool* const pool_;
  Offloader* const offloader_;
  StatsBoard* const stats_;
  ScheduleTrace* const trace_;
  RequestQueue* const queue_;
  const AnswerReporter answer_reporter_;
  std::list<RunningRequest> requests_;
  uint64_t last_admission_ = 0;
  bool has_paused_ = false;
};

}  // namespace cairn

#endif  // CAIRN_SCHED_QUEUE_RUNNING_REQUESTS_H_
