// PathLoads: has the states that queued requests will resume from read from disk while they wait,
// so that running answers do not wait for the disk (cache/disk/disk_loader.h). A request stays in
// the queue until its states are in memory.
//
// Threads: the context thread.

#ifndef CAIRN_SCHED_QUEUE_PATH_LOADS_H_
#define CAIRN_SCHED_QUEUE_PATH_LOADS_H_

#include <cstddef>
#include <cstdint>
#include <map>

#include "sched/queue/prefix_waits.h"
#include "sched/queue/request_queue.h"
#include "sched/request_state.h"
#include "sched/running_requests.h"
#include "sched/scheduler_context.h"

namespace cairn {

class PathLoads {
 public:
  // All must outlive this object.
  PathLoads(SchedulerContext* context, RequestQueue* queue, RunningRequests* running)
      : context_(context), queue_(queue), running_(running) {}

  // Begins the loads of the requests that are first in the queue, at most as many as there are
  // slots, and ends those of requests that left it. Returns whether a load began or went on.
  bool Update();
  // Whether the request should stay in the queue because its states are not in memory yet.
  bool IsLoading(const QueuedRequest& queued) const;
  bool any() const { return !loads_.empty(); }

 private:
  // Chooses the request's path, once after each admission.
  void Begin(QueuedRequest* queued);
  // Publishes how many requests wait for the disk.
  void CountLoading();

  SchedulerContext* const context_;
  RequestQueue* const queue_;
  RunningRequests* const running_;
  std::map<uint64_t, uint64_t> loads_;  // DiskLoader's numbers by the requests'
  size_t loading_ = 0;                  // as published
};

}  // namespace cairn

#endif  // CAIRN_SCHED_QUEUE_PATH_LOADS_H_
