// Preload: brings a conversation back to one of its checkpoints before anyone goes on from there,
// because a person wants it so (api/admin/cache_api.h). A request that preloads has no answer:
//
//   path   | restored, or assembled | prefilled           | rest |
//          '- as for any request ---'- no checkpoint here '- a few tokens behind the last cut
//
// The last token of a prompt is computed for its logits. A preload wants none, and the token behind
// its path is not known: a placeholder stands for it and is never computed. Nor are the tokens
// behind the last cut, which a request that goes on from here computes again to stay on the grid.
// Where the checkpoint has logits, it is a prompt's very end, and somebody may ask for an answer to
// it once more: then the path is computed as that prompt was.
//
// A path that a slot has already, or that is set from memory in no time, is left where it is: a
// longer conversation is not cut for one of its own checkpoints.
//
// Threads: the context thread.

#ifndef CAIRN_SCHED_PREFETCH_PRELOAD_H_
#define CAIRN_SCHED_PREFETCH_PRELOAD_H_

#include <cstddef>

#include "sched/request_state.h"
#include "sched/running_requests.h"
#include "sched/scheduler_context.h"

namespace cairn {

class Preload {
 public:
  // Both outlive it.
  Preload(SchedulerContext* context, RunningRequests* running)
      : context_(context), running_(running) {}

  // Before the request gets its slot. True: the path is at hand, and the request has ended.
  bool EndIfAtHand(RunningRequest* request);
  // How far the request is prefilled.
  size_t EndOf(const RunningRequest& request) const;
  // Once it has its slot: plans its checkpoint. The request may end there.
  void Plan(RunningRequest* request);
  void Finish(RunningRequest* request);

 private:
  // Whether it ends in a placeholder, and the class of its checkpoint.
  void FindCheckpoint(RunningRequest* request);

  SchedulerContext* const context_;
  RunningRequests* const running_;
};

}  // namespace cairn

#endif  // CAIRN_SCHED_PREFETCH_PRELOAD_H_
