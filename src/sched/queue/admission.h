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
#include <utility>
#include <vector>

#include "base/clock.h"
#include "cache/checkpoint_cache.h"
#include "sched/context/scheduler_stats.h"
#include "sched/queue/path_loads.h"
#include "sched/queue/prefix_waits.h"
#include "sched/queue/remote_waits.h"
#include "sched/queue/request_queue.h"
#include "sched/queue/running_requests.h"
#include "sched/queue/slot_exchange.h"
#include "sched/request/queue_order.h"
#include "sched/request/request_state.h"
#include "sched/slots/restorer.h"
#include "sched/slots/slot_pool.h"

namespace cairn {

// See SchedulerOptions.
struct AdmissionOptions {
  double share_wait_ms = 5000;
  double slow_reader_ms = 100;
};

class Admission {
 public:
  // Why a queued request does not take a free slot yet.
  struct Waits {
    PrefixWaits prefix;
    PathLoads loads;
    RemoteWaits fetches;
    SlotExchange exchange;
    PathFills fills;
  };

  // All must outlive this object.
  Admission(const CheckpointCache* cache, const Clock* clock, const SlotPool* pool,
            const Restorer* restorer, FairShares* shares, StatsBoard* stats,
            const AdmissionOptions& options, RequestQueue* queue, RunningRequests* running,
            Waits waits)
      : cache_(cache),
        clock_(clock),
        pool_(pool),
        restorer_(restorer),
        shares_(shares),
        stats_(stats),
        options_(options),
        queue_(queue),
        running_(running),
        waits_(std::move(waits)) {}

  // Reports to the fair shares which namespaces have work.
  void UpdateShares();
  // Call before TakeNext, and again after an admission: before the new request computes past the
  // prefix that it shares with queued ones.
  void UpdateWaits() { waits_.prefix.Update(); }
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
  void EndFills() { waits_.fills.EndAll(); }
  // Whether a queued request waits for the disk or a remote store.
  bool loads() const { return waits_.loads.any() || fetches() || waits_.exchange.any() || fills(); }
  bool fetches() const { return waits_.fetches.any(); }
  // Whether a slot is being filled for a queued request.
  bool fills() const { return waits_.fills.any(); }
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

  const CheckpointCache* const cache_;
  const Clock* const clock_;
  const SlotPool* const pool_;
  const Restorer* const restorer_;
  FairShares* const shares_;
  StatsBoard* const stats_;
  const AdmissionOptions options_;
  RequestQueue* const queue_;
  RunningRequests* const running_;
  Waits waits_;
};

}  // namespace cairn

#endif  // CAIRN_SCHED_QUEUE_ADMISSION_H_
