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

#include "sched/context/scheduler_context.h"
#include "sched/steps/draft_model.h"

namespace cairn {

class IdleUnloader {
 public:
  // Both must outlive this object. `draft_model`: unloaded and loaded too; nullptr: there is none.
  IdleUnloader(SchedulerContext* context, DraftModel* draft_model)
      : context_(context), draft_model_(draft_model), busy_ms_(context->NowMs()) {}

  // Restarts the idle time, because there was work now.
  void OnBusy() { busy_ms_ = context_->NowMs(); }
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

  SchedulerContext* const context_;
  DraftModel* const draft_model_;
  bool draft_model_unloaded_ = false;
  double busy_ms_;  // when there was last work
  bool unloaded_ = false;
  std::string reason_;
};

}  // namespace cairn

#endif  // CAIRN_SCHED_IDLE_UNLOADER_H_
