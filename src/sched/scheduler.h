// Scheduler: runs the one thread that owns the engine's context. What other threads ask of it is in
// sched/scheduler_client.h; requests and answers are in sched/request/generation_request.h and
// sched/answer/generation.h.
//
// Requests wait in a queue until a slot is free. Step() does at most one bounded unit of each kind
// of work and returns:
//
//   RequestQueue ─> Admission ─> Prefill ─> a chunk ─> … ─> Decoder ─> a token ─> … ─> end
//                       │           │          │               └ of every answer, in one batch;
//                       │           │          │                 `exact` decodes each alone
//                       │           │          └ of one prompt, the first by QueueOrder, and only
//                       │           │            as often as AnswerPace allows; takes checkpoints
//                       │           │            where the cache planned them
//                       │           └ Restorer: picks the slot and restores the deepest position
//                       │             that needs no prefill
//                       └ PrefixWaits: a prompt that shares a prefix with one being computed waits
//                         for that prefix; others pass it, but leave it a slot
//
// While there is no request, Run() prefetches (sched/steps/prefetcher.h), saves
// (sched/upkeep/cache_saver.h) and unloads the model (sched/idle_unloader.h). Other threads
// reach the context thread through the queue and the Mailbox.
//
// When the slots together outgrow the context, free slots are offloaded first; then the request
// that arrived last is preempted and later continues where it was. Between two steps a request may
// be cancelled; its checkpoints stay.
//
// Threads: what SchedulerClient has, PostLook, slots, Stop, LoseEngine and Wake may be called from
// any thread; the rest from the context thread.

#ifndef CAIRN_SCHED_SCHEDULER_H_
#define CAIRN_SCHED_SCHEDULER_H_

#include <atomic>
#include <cstddef>
#include <functional>
#include <memory>
#include <vector>

#include "base/clock.h"
#include "cache/checkpoint_cache.h"
#include "engine/engine.h"
#include "sched/context/prompt_rules.h"
#include "sched/context/scheduler_options.h"
#include "sched/context/step_accounts.h"
#include "sched/idle_unloader.h"
#include "sched/mailbox.h"
#include "sched/queue/admission.h"
#include "sched/queue/request_queue.h"
#include "sched/queue/running_requests.h"
#include "sched/scheduler_client.h"
#include "sched/slot_commands.h"
#include "sched/slots/restorer.h"
#include "sched/slots/slot_archive.h"
#include "sched/steps/decoder.h"
#include "sched/steps/draft_model.h"
#include "sched/steps/prefetcher.h"
#include "sched/steps/prefill.h"
#include "sched/upkeep/cache_saver.h"
#include "sched/upkeep/memory_governor.h"
#include "sched/upkeep/prefix_reporter.h"

namespace cairn {

class Scheduler final : public SchedulerClient {
 public:
  // All three must outlive the scheduler.
  Scheduler(Engine* engine, CheckpointCache* cache, const Clock* clock,
            const SchedulerOptions& options);

  Result<std::shared_ptr<Generation>> Submit(GenerationRequest request) override;
  void Prefetch(std::vector<PrefetchPrompt> prompts) override;
  Result<size_t> EraseSlot(size_t slot, NamespaceId name_space) override {
    return slot_commands_.Erase(slot, name_space);
  }
  Status Look(std::function<void(CheckpointCache* cache)> look) override;
  Result<size_t> Flush() override;
  Result<size_t> SetCacheLimit(size_t bytes) override;
  void SetDraining(bool draining) override;
  SchedulerStats stats() const override;

  // As Look, without waiting: runs before anything that is submitted later.
  Status PostLook(std::function<void(CheckpointCache* cache)> look);
  SlotCommands& slots() { return slot_commands_; }

  // Steps until Stop, then fails the remaining requests.
  void Run();
  void Stop();
  // For an engine that never returns from a call: ends all requests with `error`, and accepts no
  // more. The process has to end then; it may be used for as long as its answers take to be sent.
  void LoseEngine(const Error& error);
  // Tells the context thread that the cache may have events.
  void Wake() { mailbox_.Wake(); }
  // After Run: saves what is worth saving, for at most `ms_max`. Returns false if more was left.
  bool SaveAll(double ms_max);
  // Runs one step. Returns false if there is nothing to do.
  bool Step();
  // Computes a chunk of an expected prompt. Returns false if there is none, or the budget does not
  // allow it. REQUIRES: Step has nothing to do.
  bool PrefetchNext();
  // See CacheSaver::Step; also saves the draft model's states. Run does this itself while there is
  // no request. REQUIRES: Step has nothing to do.
  bool SaveNext(bool now);
  // Begins to save one object; while draining, idle slots are copied too. Run calls this between
  // the steps of requests.
  void SaveWhileBusy();
  // Unloads the model if it was idle for sleep_after_ms; Run calls this itself. Returns false if it
  // was not, or if the model is unloaded already. REQUIRES: there is nothing to do.
  bool SleepIfIdle();
  // Reports to SchedulerOptions::prefixes what has changed; Run does this itself.
  void ReportPrefixes() { prefix_reporter_.Report(); }

 private:
  Status CheckRequest(const GenerationRequest& request) const;
  void RunOnce();
  // The bytes of both models that are to be saved.
  uint64_t UnsavedBytes() const;
  // Returns false if no idle work is left.
  bool DoIdleWork();
  void EndIdleWork();
  // Lets the context thread begin with a request or a command at once. Any thread.
  void InterruptIdleWork() const;
  bool HasWork() const;
  // Returns false if there is no work, or if the model does not load and the waiting requests have
  // failed. REQUIRES: the model is unloaded.
  bool LoadForWork();
  bool AdmitNext();
  void FailOverdue();
  void FailEverything(const Error& error);
  // Called after a failed allocation. Fails all running requests and empties all slots; the loop
  // continues.
  void RecoverMemory();
  bool DoCommands() { return mailbox_.Do(Mailbox::Kind::kCommand) > 0; }
  // A look may walk over all of the cache, so answers continue between two of them.
  void DoLooks(size_t count_max);
  void ShowCache(const std::function<void(CheckpointCache* cache)>& look);
  // Waits while all requests wait for the disk, a remote store, media, or their clients.
  void WaitForOthers();
  void WaitForWork();

  Engine* const engine_;
  CheckpointCache* const cache_;
  const Clock* const clock_;
  const SchedulerOptions options_;
  const PromptRules rules_;
  ModelSlots slots_;
  SlotArchive archive_;
  StepAccounts accounts_;
  SaveLag save_lag_;
  const std::unique_ptr<DraftModel> draft_model_;  // nullptr: there is none
  Mailbox mailbox_;
  OpenGenerations open_generations_;
  RequestQueue queue_;
  RunningRequests running_;
  Admission admission_;
  Decoder decoder_;
  Prefetcher prefetcher_;
  Prefill prefill_;
  MemoryGovernor memory_governor_;
  CacheSaver cache_saver_;
  IdleUnloader idle_unloader_;
  PrefixReporter prefix_reporter_;
  SlotCommands slot_commands_;
  IdleWork* idle_work_;  // nullptr once it has ended
  std::atomic<bool> draining_ = false;
};

}  // namespace cairn

#endif  // CAIRN_SCHED_SCHEDULER_H_
