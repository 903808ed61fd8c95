// Admission: chooses the queued request that gets a slot next (sched/request/queue_order.h), and
// takes a slot from an answer that is paused, or from a namespace so that another gets its share.
//
// Threads: the context thread.

#ifndef CAIRN_SCHED_QUEUE_ADMISSION_H_
#define CAIRN_SCHED_QUEUE_ADMISSION_H_

#include <cstddef>
#include <deque>
#include <optional>
#include <set>
#include <vector>

#include "sched/context/scheduler_context.h"
#include "sched/queue/path_fills.h"
#include "sched/queue/path_loads.h"
#include "sched/queue/prefix_waits.h"
#include "sched/queue/remote_waits.h"
#include "sched/queue/request_queue.h"
#include "sched/queue/running_requests.h"
#include "sched/queue/slot_exchange.h"
#include "sched/request/request_state.h"

namespace cairn {

class Admission {
 public:
  // All must outlive this object.
  Admission(SchedulerContext* context, RequestQueue* queue, RunningRequests* running)
      : context_(context),
        queue_(queue),
        running_(running),
        waits_(context, queue, running),
        loads_(context, running),
        fetches_(context),
        exchange_(context, running),
        fills_(context, running) {}

  // Reports to the fair shares which namespaces have work.
  void UpdateShares();
  // Call before TakeNext, and again after an admission: before the new request computes past the
  // prefix that it shares with queued ones.
  void UpdateWaits() { waits_.Update(); }
  // Takes the next request that a slot and its cells are free for out of the queue.
  std::optional<QueuedRequest> TakeNext();
  // Begins to fetch the states that queued requests will resume from out of a remote store and to
  // read them from disk, and ends that for requests that are no longer queued. Call before
  // TakeNext, and after a request got its slot. Returns whether something changed.
  bool UpdateLoads();
  // Stores what slots lose for the next requests, and fills their slots, part by part. Call before
  // TakeNext. Returns whether it did something.
  bool PrepareSlots();
  // Empties the slots that are being filled.
  void EndFills() { fills_.EndAll(); }
  // Whether a queued request waits for the disk or a remote store.
  bool loads() const { return loads_.any() || fetches() || exchange_.any() || fills_.any(); }
  bool fetches() const { return fetches_.any(); }
  // Whether a slot is being filled for a queued request.
  bool fills() const { return fills_.any(); }
  // Preempts an answer that has been paused for a while if a queued request has no slot, or no
  // room, without it. Returns whether it did. Call when TakeNext has found nothing.
  bool PreemptPaused();
  // Preempts for a namespace that has waited long enough: a request of a namespace that holds more
  // slots is stored and continues later, which costs a restore but no prefill.
  void PreemptForShare();

 private:
  // Slots and tokens reserved for requests that were passed over in the queue.
  struct Reserved {
    size_t slots = 0;
    size_t tokens = 0;
  };

  void EstimatePrefills();
  void EstimatePrefill(QueuedRequest* queued);
  // Stores the next parts of the slots that the request takes, and makes room for them in memory by
  // ending loads behind it. Returns whether the request waits for more.
  bool StoresFor(QueuedRequest* queued, const std::vector<QueuedRequest*>& in_order);
  // Whether the request waits for states that are read, fetched or stored.
  bool WaitsForStates(const QueuedRequest& queued) const;
  // Returns `ready` in the order of admission, without those that have no estimate yet.
  std::vector<QueuedRequest*> InQueueOrder(std::vector<QueuedRequest*> ready) const;
  std::optional<size_t> ChooseNext(std::deque<QueuedRequest>* queue);
  bool MayAdmit(const QueuedRequest& queued, const Reserved& reserved) const;
  // Whether the request could begin if it had a slot.
  bool WantsSlot(const QueuedRequest& queued) const;
  std::set<NamespaceId> WaitingTooLong(double now_ms) const;
  // Returns the request that gives its slot to `waiting`; nullptr if none has to.
  RunningRequest* ShareVictim(const std::set<NamespaceId>& waiting, double now_ms);

  SchedulerContext* const context_;
  RequestQueue* const queue_;
  RunningRequests* const running_;
  PrefixWaits waits_;
  PathLoads loads_;
  RemoteWaits fetches_;
  SlotExchange exchange_;
  PathFills fills_;
};

}  // namespace cairn

#endif  // CAIRN_SCHED_QUEUE_ADMISSION_H_
