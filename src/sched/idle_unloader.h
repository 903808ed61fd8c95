// IdleUnloader: unloads the model after a long time without requests, and loads it again for the
// next one.
//
//   idle for --sleep-idle-seconds ─> offload the slots ─> Engine::Sleep
//   a request or a command        ─> Engine::Wake ─> continues: the cache has the slots' contents
//
// If the model cannot be loaded again, the waiting requests fail, and the next request tries again.
//
// Threads: the context thread.

#ifndef CAIRN_SCHED_IDLE_UNLOADER_H_
#define CAIRN_SCHED_IDLE_UNLOADER_H_

#include <cstddef>
#include <string>
#include <utility>

#include "base/clock.h"
#include "base/log.h"
#include "base/result.h"
#include "cache/checkpoint_cache.h"
#include "engine/engine.h"
#include "sched/answer/schedule_trace.h"
#include "sched/context/scheduler_stats.h"
#include "sched/slots/offloader.h"
#include "sched/slots/slot_pool.h"
#include "sched/steps/draft_model.h"

namespace cairn {

// See SchedulerOptions.
struct IdleUnloaderOptions {
  double sleep_after_ms = -1;
  LogSink log = {};
};

class IdleUnloader {
 public:
  // All must outlive this object. `draft_model`: unloaded and loaded too; nullptr: there is none.
  IdleUnloader(Engine* engine, CheckpointCache* cache, const Clock* clock, SlotPool* pool,
               Offloader* offloader, StatsBoard* stats, ScheduleTrace* trace,
               IdleUnloaderOptions options, DraftModel* draft_model)
      : engine_(engine),
        cache_(cache),
        clock_(clock),
        pool_(pool),
        offloader_(offloader),
        stats_(stats),
        trace_(trace),
        options_(std::move(options)),
        draft_model_(draft_model),
        busy_ms_(clock->NowMs()) {}

  // Restarts the idle time, because there was work now.
  void OnBusy() { busy_ms_ = clock_->NowMs(); }
  // Infinite if the model is never unloaded.
  double UntilUnloadMs() const;
  bool unloaded() const { return unloaded_; }
  // Why the model is not loaded, for the errors of requests and commands.
  const std::string& reason() const { return reason_; }
  void SetReason(std::string reason) { reason_ = std::move(reason); }

  // Returns false if the engine keeps its model. REQUIRES: no slot is in use, and the model is
  // loaded.
  bool Unload();
  // Returns false if it could not be loaded; see reason().
  bool Load();

 private:
  size_t OffloadSlots();
  Status LoadModels();

  Engine* const engine_;
  CheckpointCache* const cache_;
  const Clock* const clock_;
  SlotPool* const pool_;
  Offloader* const offloader_;
  StatsBoard* const stats_;
  ScheduleTrace* const trace_;
  const IdleUnloaderOptions options_;
  DraftModel* const draft_model_;
  bool draft_model_unloaded_ = false;
  double busy_ms_;  // when there was last work
  bool unloaded_ = false;
  std::string reason_;
};

}  // namespace cairn

#endif  // CAIRN_SCHED_IDLE_UNLOADER_H_
