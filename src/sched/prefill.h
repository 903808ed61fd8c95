// Prefill: brings a request's slot to its resume point, then computes the rest of its prompt in
// chunks and takes checkpoints where the cache planned them.
//
//   prompt   | resumed without prefill | chunk | chunk | … | last token's logits ─> Decoder
//                                              '- a checkpoint
//
// Running answers are held up by one chunk at most, and as often as TimeShare allows.
//
// Threads: the context thread.

#ifndef CAIRN_SCHED_PREFILL_H_
#define CAIRN_SCHED_PREFILL_H_

#include <cstddef>
#include <span>

#include "sched/decoder.h"
#include "sched/prefetch/prefetcher.h"
#include "sched/prefetch/preload.h"
#include "sched/queue/queue_order.h"
#include "sched/queue/request_queue.h"
#include "sched/request_state.h"
#include "sched/running_requests.h"
#include "sched/scheduler_context.h"

namespace cairn {

class Prefill {
 public:
  // All outlive it.
  Prefill(SchedulerContext* context, RequestQueue* queue, RunningRequests* running,
          Decoder* decoder, Prefetcher* prefetcher)
      : context_(context),
        queue_(queue),
        running_(running),
        decoder_(decoder),
        prefetcher_(prefetcher),
        preload_(context, running) {}

  // Gives an admitted request its slot and brings that along the prompt without prefill. The
  // request may have ended then.
  void Resume(RunningRequest* request);
  // Computes one chunk of the request that comes first. False: none has a prompt to compute, or
  // answers are owed time.
  bool Step();

 private:
  // What the slots and the cache know of a prompt, before it gets its slot.
  ReuseReport NearestOf(const GenerationRequest& request,
                        const CheckpointCache::MatchResult& match) const;
  void CountRestore(const ReuseReport& report);
  void ReportReuse(RunningRequest* request, ReuseReport nearest, ReuseReport resumed);
  void PlanCheckpoints(RunningRequest* request, const CheckpointCache::MatchResult& match);
  // Keeps the checkpoint at a client's mark, if there is one.
  void KeepMark(const RunningRequest& request, const ClientMark& mark);
  // Null: no prompt is to be computed.
  RunningRequest* NextRequest();
  // A request in the queue that waits for this one lends it its place.
  Contender ContenderOf(const RunningRequest& request) const;
  // Up to here the tokens are computed in chunks; those behind are decoded one by one.
  size_t ChunksEnd(const RunningRequest& request) const;
  void ComputeChunk(RunningRequest* request);
  Status Compute(RunningRequest* request, const TokenRange& range, bool is_answer);
  void OnChunk(RunningRequest* request, const TokenRange& range, double ms);
  void TakeCheckpoint(RunningRequest* request);
  void Finish(RunningRequest* request, std::span<const float> logits);
  Slot& SlotOf(const RunningRequest& request) { return context_->pool.slot(*request.slot); }

  SchedulerContext* const context_;
  RequestQueue* const queue_;
  RunningRequests* const running_;
  Decoder* const decoder_;
  Prefetcher* const prefetcher_;
  Preload preload_;
};

}  // namespace cairn

#endif  // CAIRN_SCHED_PREFILL_H_
