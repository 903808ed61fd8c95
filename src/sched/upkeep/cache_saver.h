// CacheSaver: hands the objects that are worth it to a cache that saves them on a disk, step by
// step beside the requests. Does nothing where the cache does not save.
//
// Threads: the context thread.

#ifndef CAIRN_SCHED_UPKEEP_CACHE_SAVER_H_
#define CAIRN_SCHED_UPKEEP_CACHE_SAVER_H_

#include "sched/scheduler_context.h"

namespace cairn {

class CacheSaver {
 public:
  // How often there may be more to save: a slot was unused for long enough, or the disk caught up.
  static constexpr double kIntervalMs = 250;

  // `context` outlives it.
  explicit CacheSaver(SchedulerContext* context) : context_(context) {}

  // Begins to save one object, or copies a part of an unused slot to the cache. `now`: without
  // waiting until the slot was unused for long. False: there is nothing to do.
  bool Step(bool now);
  // Begins to save one object, now and then. Copying slots takes the thread for longer, and waits
  // until there is no request.
  void StepWhileBusy();
  // Of what is in the cache alone, as slots are empty while the model is unloaded.
  void StepWhileUnloaded();

 private:
  SchedulerContext* const context_;
  double saved_ms_ = 0;  // of the last StepWhileBusy that did something
};

}  // namespace cairn

#endif  // CAIRN_SCHED_UPKEEP_CACHE_SAVER_H_
