// CacheSaver: hands objects worth saving to a cache that saves to disk, step by step between the
// steps of requests. Does nothing if the cache does not save.
//
// Threads: the context thread.

#ifndef CAIRN_SCHED_UPKEEP_CACHE_SAVER_H_
#define CAIRN_SCHED_UPKEEP_CACHE_SAVER_H_

#include "sched/context/scheduler_context.h"

namespace cairn {

class CacheSaver {
 public:
  // How often there may be more to save: a slot was unused for long enough, or the disk caught up.
  static constexpr double kIntervalMs = 250;

  // `context` must outlive this object.
  explicit CacheSaver(SchedulerContext* context) : context_(context) {}

  // Begins to save one object, or copies a part of an unused slot to the cache. `now`: also copies
  // slots that were in use recently. Returns false if there is nothing to do.
  bool Step(bool now);
  // Begins to save one object, at most once per kIntervalMs. Slots are not copied: that takes the
  // thread for longer, and waits until there is no request.
  void StepWhileBusy();
  // Begins to save one object of the cache. Slots are empty while the model is unloaded.
  void StepWhileUnloaded();

 private:
  SchedulerContext* const context_;
  double saved_ms_ = 0;  // time of the last StepWhileBusy that did something
};

}  // namespace cairn

#endif  // CAIRN_SCHED_UPKEEP_CACHE_SAVER_H_
