// Preload: loads the state at a conversation's checkpoint into a slot before a request continues
// from it, on an administrator's command (api/admin/cache_api.h). A preload request has no answer:
//
//   path   | restored, or assembled | prefilled           | rest |
//          '- as for any request ---'- no checkpoint here '- a few tokens behind the last cut
//
// The last token of a prompt is normally computed for its logits. A preload needs none, and the
// token after its path is unknown: a placeholder stands for it and is never computed. The tokens
// after the last cut are not computed either, because a request that continues from here computes
// them again to stay on the grid. If the checkpoint has logits, it is the end of a prompt that may
// be requested again: then the path is computed as that prompt was.
//
// A path that a slot holds already, or that memory can restore at once, is left in place: a longer
// conversation is not truncated for one of its own checkpoints.
//
// Threads: the context thread.

#ifndef CAIRN_SCHED_STEPS_PRELOAD_H_
#define CAIRN_SCHED_STEPS_PRELOAD_H_

#include <cstddef>

#include "base/clock.h"
#include "cache/checkpoint_cache.h"
#include "sched/context/prompt_rules.h"
#include "sched/queue/running_requests.h"
#include "sched/request/request_state.h"
#include "sched/slots/restorer.h"
#include "sched/slots/slot_pool.h"

namespace cairn {

class Preload {
 public:
  // All must outlive this object.
  Preload(const CheckpointCache* cache, const Clock* clock, const SlotPool* pool,
          Restorer* restorer, const PromptRules* rules, RunningRequests* running)
      : cache_(cache),
        clock_(clock),
        pool_(pool),
        restorer_(restorer),
        rules_(rules),
        running_(running) {}

  // Called before the request gets its slot. Returns true if the path is at hand and the request
  // has ended.
  bool EndIfAtHand(RunningRequest* request);
  // The position up to which the request is prefilled.
  size_t EndOf(const RunningRequest& request) const;
  // Called once the request has its slot: plans its checkpoint. The request may end there.
  void Plan(RunningRequest* request);
  void Finish(RunningRequest* request);

 private:
  // Determines whether the path ends in a placeholder, and the class of its checkpoint.
  void FindCheckpoint(RunningRequest* request);

  const CheckpointCache* const cache_;
  const Clock* const clock_;
  const SlotPool* const pool_;
  Restorer* const restorer_;
  const PromptRules* const rules_;
  RunningRequests* const running_;
};

}  // namespace cairn

#endif  // CAIRN_SCHED_STEPS_PRELOAD_H_
