// PathFills: fills slots with long paths of segments for queued requests, part by part, so that
// running answers go on between the parts, and a conversation that is larger than the cache's
// memory comes back from disk through a few parts at a time:
//
//   B queued ──> slot: part ── part ── (its file is read) ── part ── state ──> B takes the slot
//                answers:  step    step                  step    step
//
// Each part goes from the disk's thread into memory and from there into the slot; then its memory
// is free for the next (cache/disk/disk_loader.h).
//
// Threads: the context thread.

#ifndef CAIRN_SCHED_QUEUE_PATH_FILLS_H_
#define CAIRN_SCHED_QUEUE_PATH_FILLS_H_

#include <cstdint>
#include <map>
#include <vector>

#include "base/clock.h"
#include "cache/checkpoint_cache.h"
#include "sched/queue/path_loads.h"
#include "sched/queue/running_requests.h"
#include "sched/request/queue_order.h"
#include "sched/request/request_state.h"
#include "sched/slots/restorer.h"

namespace cairn {

class PathFills {
 public:
  // All must outlive this object.
  PathFills(CheckpointCache* cache, const Clock* clock, Restorer* restorer, FairShares* shares,
            const RunningRequests* running)
      : cache_(cache), clock_(clock), restorer_(restorer), shares_(shares), running_(running) {}

  // Takes a slot for the request if its path is long (Restorer::BeginFilling), once while it is
  // queued. Returns whether it did. REQUIRES: a slot is free, and the request could have it now.
  bool Begin(QueuedRequest* queued);
  // Takes the next part that is in memory, or while no answer waits all of them; empties the slots
  // of requests that are not in `ready`, or for which the disk takes longer than their prefill
  // would. Returns whether it did something.
  bool Step(const std::vector<QueuedRequest*>& ready);
  void EndAll();
  bool Waits(const QueuedRequest& queued) const { return fills_.contains(queued.number); }
  bool any() const { return !fills_.empty(); }

 private:
  struct Running {
    Restorer::Filling filling;
    double since_ms = 0;  // the last part, or the beginning
  };

  // Takes a part. Returns whether the slot needs more.
  bool Fill(QueuedRequest* queued, Restorer::Filling* filling);
  // Whether the request has left the queue or waited too long; then its slot is empty.
  bool IsOver(QueuedRequest* queued, const Running& fill);

  CheckpointCache* const cache_;
  const Clock* const clock_;
  Restorer* const restorer_;
  FairShares* const shares_;
  const RunningRequests* const running_;
  std::map<uint64_t, Running> fills_;  // by the requests' numbers
  DiskWait wait_;
};

}  // namespace cairn

#endif  // CAIRN_SCHED_QUEUE_PATH_FILLS_H_
