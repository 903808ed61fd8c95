// IdleUnloader: unloads the model when nobody asked for long, and loads it again for a request.
//
//   idle for --sleep-idle-seconds ─> offload what the slots hold ─> Engine::Sleep
//   a request or a command        ─> Engine::Wake ─> goes on: the cache has what the slots held
//
// Where the model does not load again, whoever waits is told so, and the next one tries anew.
//
// Threads: the context thread.

#ifndef CAIRN_SCHED_UPKEEP_IDLE_UNLOADER_H_
#define CAIRN_SCHED_UPKEEP_IDLE_UNLOADER_H_

#include <cstddef>
#include <string>

#include "sched/scheduler_context.h"

namespace cairn {

class IdleUnloader {
 public:
  // `context` outlives it.
  explicit IdleUnloader(SchedulerContext* context)
      : context_(context), busy_ms_(context->NowMs()) {}

  // There was something to do now.
  void OnBusy() { busy_ms_ = context_->NowMs(); }
  // Infinite: never.
  double UntilUnloadMs() const;
  bool unloaded() const { return unloaded_; }
  // Why the model is not loaded, for those who want something of it.
  const std::string& reason() const { return reason_; }
  void SetReason(std::string reason) { reason_ = std::move(reason); }

  // False: the engine keeps its model. REQUIRES: no slot is in use, and it is loaded.
  bool Unload();
  // False: it could not be loaded; see reason().
  bool Load();

 private:
  size_t OffloadSlots();

  SchedulerContext* const context_;
  double busy_ms_;  // when there was last something to do
  bool unloaded_ = false;
  std::string reason_;
};

}  // namespace cairn

#endif  // CAIRN_SCHED_UPKEEP_IDLE_UNLOADER_H_
