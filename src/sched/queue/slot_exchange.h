// SlotExchange: has what slots lose for the next request stored part by part, between the steps of
// running answers, before the request takes its slot. Where the cache saves to disk, each part
// waits until the disk has taken enough of those before it:
//
//   B queued ──> slot of A: part ── part ── (queue of writes is full) ── part ──> B takes it
//                answers of C:   step    step                       step
//
// A request waits no longer than a quarter of the prefill that storing spares. After that the rest
// is stored at once, as far as it fits (sched/slots/offloader.h).
//
// Does nothing if the cache does not save.
//
// Threads: the context thread.

#ifndef CAIRN_SCHED_QUEUE_SLOT_EXCHANGE_H_
#define CAIRN_SCHED_QUEUE_SLOT_EXCHANGE_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>

#include "base/clock.h"
#include "cache/checkpoint_cache.h"
#include "sched/queue/running_requests.h"
#include "sched/request/request_state.h"
#include "sched/slots/offloader.h"
#include "sched/slots/restorer.h"

namespace cairn {

class SlotExchange {
 public:
  // All must outlive this object.
  SlotExchange(const CheckpointCache* cache, const Clock* clock, Offloader* offloader,
               const Restorer* restorer, const RunningRequests* running)
      : cache_(cache),
        clock_(clock),
        offloader_(offloader),
        restorer_(restorer),
        running_(running) {}

  // Call before the first Update of a step: no request waits.
  void Begin();
  // kWaits: the request stays in the queue. kNoRoom: it should, if what fills the cache's memory
  // will not be in use for long (see Wait).
  enum class State { kReady, kWaits, kNoRoom };
  // Stores the next part for a request that could have a slot now, or all parts while no answer
  // waits, unless parts were stored for another request in this step.
  State Update(QueuedRequest* queued);
  // The request stays in the queue in this step.
  void Wait(const QueuedRequest& queued) { waiting_.insert(queued.number); }
  bool Waits(const QueuedRequest& queued) const { return waiting_.contains(queued.number); }
  bool any() const { return !waiting_.empty(); }
  // Whether a part was stored in this step.
  bool stored() const { return stored_; }

 private:
  // Whether parts are stored for a request before this one; otherwise they are now stored for it.
  bool StoresForAnother(const QueuedRequest& queued);
  // kReady: there is nothing more to store.
  State StoreParts(size_t slot);

  const CheckpointCache* const cache_;
  const Clock* const clock_;
  Offloader* const offloader_;
  const Restorer* const restorer_;
  const RunningRequests* const running_;
  std::set<uint64_t> waiting_;     // numbers of requests
  uint64_t request_ = 0;           // the one that parts are stored for
  std::optional<size_t> storing_;  // the slot that loses its contents
  std::set<size_t> tried_;         // of its slots those of which nothing more can be stored
  bool stored_ = false;
};

}  // namespace cairn

#endif  // CAIRN_SCHED_QUEUE_SLOT_EXCHANGE_H_
