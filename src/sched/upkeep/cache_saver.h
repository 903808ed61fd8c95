// CacheSaver: hands objects worth saving to a cache that saves to disk, step by step between the
// steps of requests. Does nothing if the cache does not save.
//
// Threads: the context thread.

#ifndef CAIRN_SCHED_UPKEEP_CACHE_SAVER_H_
#define CAIRN_SCHED_UPKEEP_CACHE_SAVER_H_

#include "base/clock.h"
#include "cache/checkpoint_cache.h"
#include "sched/context/scheduler_stats.h"
#include "sched/context/step_accounts.h"
#include "sched/slots/offloader.h"
#include "sched/slots/restorer.h"

namespace cairn {

class CacheSaver {
 public:
  // How often there may be more to save: a slot was unused for long enough, or the disk caught up.
  static constexpr double kIntervalMs = 250;

  // All must outlive this object.
  CacheSaver(CheckpointCache* cache, const Clock* clock, Offloader* offloader,
             const Restorer* restorer, StatsBoard* stats, SaveLag* save_lag)
      : cache_(cache),
        clock_(clock),
        offloader_(offloader),
        restorer_(restorer),
        stats_(stats),
        save_lag_(save_lag) {}

  // Begins to save one object, or copies a part of an unused slot to the cache. `now`: also copies
  // slots that were in use recently. Returns false if there is nothing to do.
  bool Step(bool now);
  // Begins to save one object, at most once per kIntervalMs. Slots are not copied: that takes the
  // thread for longer, and waits until there is no request.
  void StepWhileBusy();
  // Begins to save one object of the cache. Slots are empty while the model is unloaded.
  void StepWhileUnloaded();

 private:
  CheckpointCache* const cache_;
  const Clock* const clock_;
  Offloader* const offloader_;
  const Restorer* const restorer_;
  StatsBoard* const stats_;
  SaveLag* const save_lag_;
  double saved_ms_ = 0;  // time of the last StepWhileBusy that did something
};

}  // namespace cairn

#endif  // CAIRN_SCHED_UPKEEP_CACHE_SAVER_H_
