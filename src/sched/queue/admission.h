// Admission: which request of the queue gets a slot next (sched/queue/queue_order.h), and when a
// namespace loses one so that another gets its share.
//
// Threads: the context thread.

#ifndef CAIRN_SCHED_QUEUE_ADMISSION_H_
#define CAIRN_SCHED_QUEUE_ADMISSION_H_

#include <cstddef>
#include <deque>
#include <optional>
#include <set>
#include <vector>

#include "sched/queue/prefix_waits.h"
#include "sched/queue/request_queue.h"
#include "sched/request_state.h"
#include "sched/running_requests.h"
#include "sched/scheduler_context.h"

namespace cairn {

class Admission {
 public:
  // All outlive it.
  Admission(SchedulerContext* context, RequestQueue* queue, RunningRequests* running)
      : context_(context), queue_(queue), running_(running), waits_(context, queue, running) {}

  // Tells the fair shares which namespaces have something to do.
  void UpdateShares();
  // To be called before the queue is asked, and after an admission: then before the new request
  // computes past the point that it shares with those behind it.
  void UpdateWaits() { waits_.Update(); }
  // The next request that a slot and its cells are free for, taken out of the queue.
  std::optional<QueuedRequest> TakeNext();
  // A namespace that has waited long enough gets a slot of one that holds more: that one's answer
  // is stored and goes on later, which costs a restore and no prefill.
  void PreemptForShare();

 private:
  // What those that were passed in the queue will take.
  struct Reserved {
    size_t slots = 0;
    size_t tokens = 0;
  };

  void EstimatePrefills();
  void EstimatePrefill(QueuedRequest* queued);
  // Indices of those that are ready, the first to go first.
  std::vector<size_t> InQueueOrder(const std::deque<QueuedRequest>& queue) const;
  std::optional<size_t> ChooseNext(std::deque<QueuedRequest>* queue);
  bool MayAdmit(const QueuedRequest& queued, const Reserved& reserved) const;
  std::set<NamespaceId> WaitingTooLong(double now_ms) const;
  // That gives its slot to `waiting`. Null: none has to.
  RunningRequest* ShareVictim(const std::set<NamespaceId>& waiting, double now_ms);

  SchedulerContext* const context_;
  RequestQueue* const queue_;
  RunningRequests* const running_;
  PrefixWaits waits_;
};

}  // namespace cairn

#endif  // CAIRN_SCHED_QUEUE_ADMISSION_H_
