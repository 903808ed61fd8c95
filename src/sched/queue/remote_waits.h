// RemoteWaits: asks for the states of queued requests in a remote store
// (sched/request/remote_lookup.h) and keeps a request in the queue while it is looked up and while
// a fetch that pays goes on. Others pass it. Afterwards PathLoads reads what came.
//
// Threads: the context thread.

#ifndef CAIRN_SCHED_QUEUE_REMOTE_WAITS_H_
#define CAIRN_SCHED_QUEUE_REMOTE_WAITS_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

#include "base/clock.h"
#include "cache/checkpoint_cache.h"
#include "engine/engine.h"
#include "sched/context/scheduler_stats.h"
#include "sched/request/remote_lookup.h"
#include "sched/request/request_state.h"
#include "sched/slots/restorer.h"

namespace cairn {

class RemoteWaits {
 public:
  // All must outlive this object. `remote`: nullptr if there is no such store.
  RemoteWaits(const Model* model, CheckpointCache* cache, const Clock* clock,
              const Restorer* restorer, StatsBoard* stats, RemoteLookup* remote)
      : model_(model),
        cache_(cache),
        clock_(clock),
        restorer_(restorer),
        stats_(stats),
        remote_(remote) {}

  // Asks for the requests of `in_order` once each, and ends the lookups of those that are not in
  // it. Returns whether a lookup ended, so that a request may reach further now.
  bool Update(const std::vector<QueuedRequest*>& in_order);
  // Whether the request should stay in the queue.
  bool Waits(const QueuedRequest& queued) const;
  bool any() const { return !tickets_.empty(); }

 private:
  void Ask(QueuedRequest* queued);
  // Returns whether the request's lookup has ended.
  bool Poll(QueuedRequest* queued);
  // Publishes how many requests wait.
  void CountFetching();

  const Model* const model_;
  CheckpointCache* const cache_;
  const Clock* const clock_;
  const Restorer* const restorer_;
  StatsBoard* const stats_;
  RemoteLookup* const remote_;
  std::map<uint64_t, RemoteLookup::Ticket> tickets_;  // by the requests' numbers
  size_t fetching_ = 0;                               // as published
};

}  // namespace cairn

#endif  // CAIRN_SCHED_QUEUE_REMOTE_WAITS_H_
