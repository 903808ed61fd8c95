// PathLoads: has the states that queued requests will resume from read from disk while they wait,
// so that running answers do not wait for the disk (cache/disk/disk_loader.h). A request stays in
// the queue until its states are in memory, but no longer than its prefill would take: then it does
// without what is on disk alone.
//
// Threads: the context thread.

#ifndef CAIRN_SCHED_QUEUE_PATH_LOADS_H_
#define CAIRN_SCHED_QUEUE_PATH_LOADS_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "cache/checkpoint_cache.h"
#include "sched/context/scheduler_stats.h"
#include "sched/queue/running_requests.h"
#include "sched/request/queue_order.h"
#include "sched/request/request_state.h"
#include "sched/slots/restorer.h"

namespace cairn {

// DiskWait: whether requests have waited too long for the disk. Time counts in which reads are in
// flight and none ends; the wait for room, until the disk has taken what memory holds, may be
// longer.
class DiskWait {
 public:
  // The most that a prompt waits: about as long as its prefill would take. A disk that works
  // answers within two seconds, however short that is.
  static double MsMax(const Restorer& restorer, size_t prompt_tokens) {
    return std::max(kMsMin, restorer.PrefillMs(prompt_tokens));
  }

  // Since `begin_ms`. `ms_max`: as MsMax returns it.
  bool IsTooLong(const DiskLoader& loader, double now_ms, double begin_ms, double ms_max) {
    if (!loader.is_reading() || std::exchange(reads_, loader.reads()) != loader.reads()) {
      progress_ms_ = now_ms;
    }
    return now_ms - std::max(progress_ms_, begin_ms) > ms_max ||
           now_ms - begin_ms > kRoomShare * ms_max;
  }

 private:
  static constexpr double kMsMin = 2'000;
  static constexpr double kRoomShare = 8;

  uint64_t reads_ = 0;
  double progress_ms_ = 0;
};

class PathLoads {
 public:
  // All must outlive this object.
  // `loads_max`: at once; as many as there are slots.
  PathLoads(CheckpointCache* cache, const Clock* clock, const Restorer* restorer, StatsBoard* stats,
            size_t loads_max, const RunningRequests* running)
      : cache_(cache),
        clock_(clock),
        restorer_(restorer),
        stats_(stats),
        loads_max_(loads_max),
        running_(running) {}

  // Begins the loads of the first requests of `in_order`, as many as there may be, and ends those
  // of requests that are not in it. `in_order`: the requests that could begin, in the order
  // of their admission. The very first always has a place: one that came later and is ahead of all
  // others takes that of the last. Returns whether a load began or went on.
  bool Update(const std::vector<QueuedRequest*>& in_order);
  // Ends the request's load.
  void End(const QueuedRequest& queued);
  // Ends the loads of the requests behind this one, because what they hold in memory leaves it no
  // room; they begin again when it has its slot. Returns whether there were any. REQUIRES: the
  // request is in `in_order`.
  bool EndBehind(const QueuedRequest& queued, const std::vector<QueuedRequest*>& in_order);
  // Whether another request has a load.
  bool HasOther(const QueuedRequest& queued) const {
    return loads_.size() > loads_.count(queued.number);
  }
  // Whether the request should stay in the queue because its states are not in memory yet, or it is
  // not known whether they are.
  bool Waits(const QueuedRequest& queued) const;
  bool any() const { return !loads_.empty(); }

 private:
  // Chooses the request's path, once after each admission, and begins its load if there is room.
  void Choose(QueuedRequest* queued);
  // Ends the request's load, which begins again when there is room.
  void TakePlaceOf(QueuedRequest* queued);
  // The first request may keep the others from their slots (admission.cc), so if it waited for
  // their loads to end, nothing would go on. Returns whether the place of the last was moved to it.
  bool MovePlaceToFirst(const std::vector<QueuedRequest*>& in_order);
  bool IsLoading(const QueuedRequest& queued) const;
  // Publishes how many requests wait for the disk.
  void CountLoading();

  CheckpointCache* const cache_;
  const Clock* const clock_;
  const Restorer* const restorer_;
  StatsBoard* const stats_;
  const size_t loads_max_;
  const RunningRequests* const running_;
  std::map<uint64_t, uint64_t> loads_;  // DiskLoader's numbers by the requests'
  uint64_t needs_room_ = 0;             // the request behind which no load begins; 0: none
  size_t loading_ = 0;                  // as published
  DiskWait wait_;
};

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

#endif  // CAIRN_SCHED_QUEUE_PATH_LOADS_H_
