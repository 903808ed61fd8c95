// Scheduler: the one thread that owns the engine's context. This is the header of sched/ that
// others include; request and answer are in sched/generation_request.h and
// sched/answer/generation.h.
//
// Requests wait in a queue until a slot is free. Step() does one bounded thing for each kind of
// work there is and comes back:
//
//   RequestQueue ─> Admission ─> Prefill ─> a chunk ─> … ─> Decoder ─> a token ─> … ─> end
//                       │           │          │               └ of every answer, in one batch;
//                       │           │          │                 `exact` decodes each alone
//                       │           │          └ of one prompt, the first by QueueOrder, and only
//                       │           │            as often as running answers can bear (TimeShare);
//                       │           │            checkpoints where the cache planned them
//                       │           └ Restorer: the slot, and the furthest point reachable without
//                       │             prefill
//                       └ PrefixWaits: a prompt that begins as one that is being computed waits for
//                         that much of it; others pass it, but leave it a slot
//
// While there is no request, Run() prefetches (sched/prefetch/prefetcher.h), saves
// (sched/upkeep/cache_saver.h) and unloads the model (sched/upkeep/idle_unloader.h). Other threads
// reach the context thread through the queue and the Mailbox.
//
// When the slots together outgrow the context, free ones are offloaded first; then the request that
// came last is preempted and goes on later where it was. Between two steps a request may be
// cancelled; the checkpoints it took stay.
//
// Threads: Submit, Prefetch, Look, PostLook, Flush, slots, Stop, Wake and stats from any thread,
// Look and Flush not from the context thread; the rest from the context thread.

#ifndef CAIRN_SCHED_SCHEDULER_H_
#define CAIRN_SCHED_SCHEDULER_H_

#include <cstddef>
#include <functional>
#include <memory>
#include <vector>

#include "base/clock.h"
#include "cache/checkpoint_cache.h"
#include "engine/engine.h"
#include "sched/answer/generation.h"
#include "sched/decoder.h"
#include "sched/generation_request.h"
#include "sched/prefetch/prefetcher.h"
#include "sched/prefill.h"
#include "sched/queue/admission.h"
#include "sched/queue/request_queue.h"
#include "sched/running_requests.h"
#include "sched/scheduler_context.h"
#include "sched/scheduler_options.h"
#include "sched/scheduler_stats.h"
#include "sched/slots/slot_commands.h"
#include "sched/upkeep/cache_saver.h"
#include "sched/upkeep/idle_unloader.h"
#include "sched/upkeep/mailbox.h"
#include "sched/upkeep/memory_governor.h"

namespace cairn {

class Scheduler {
 public:
  // All three outlive the scheduler.
  Scheduler(Engine* engine, CheckpointCache* cache, const Clock* clock,
            const SchedulerOptions& options);

  // Several answers wait in the queue as one request each; all but the first until it has computed
  // the prompt, so that they go on from there.
  // kTooLong: the prompt leaves no room for an answer. kInvalidArgument: it is empty, there is no
  // such slot, or never room for so many answers in the queue. kUnavailable: the queue is full, or
  // the scheduler is stopping.
  // REQUIRES: request.answers > 0.
  Result<std::shared_ptr<Generation>> Submit(GenerationRequest request);

  SlotCommands& slots() { return slot_commands_; }

  // Shows the cache to `look` on the context thread, between two steps, and waits for that. No
  // model is loaded for it. kUnavailable: the scheduler is stopping.
  Status Look(std::function<void(CheckpointCache* cache)> look);
  // The same without waiting: before anything that is submitted later.
  Status PostLook(std::function<void(CheckpointCache* cache)> look);
  // Begins to save the next part of all that is worth it, as for the end of the server. How many
  // bytes are left. Errors as Look's.
  Result<size_t> Flush();

  // Prompts that are expected, likeliest first, to be computed while there is no request.
  void Prefetch(std::vector<PrefetchPrompt> prompts);

  // Steps until Stop; then fails what is left.
  void Run();
  void Stop();
  // There may be news for the cache.
  void Wake() { mailbox_.Wake(); }
  // After Run: hands all that is worth it to a cache that saves, for at most so long.
  // False: there was more.
  bool SaveAll(double ms_max);
  // One step; false: there is nothing to do.
  bool Step();
  // Computes a chunk of a prompt that is expected. False: there is none, or it would be too much.
  // REQUIRES: Step has nothing to do.
  bool PrefetchNext();
  // Unloads the model if it was idle for sleep_after_ms; Run does so by itself. False: it was not,
  // or the model is unloaded already. REQUIRES: there is nothing to do.
  bool SleepIfIdle();

  SchedulerStats stats() const;

 private:
  Status CheckRequest(const GenerationRequest& request) const;
  void RunOnce();
  // False: there is none left.
  bool DoIdleWork();
  void EndIdleWork();
  bool HasWork() const;
  // False: there is no work, or the model does not load and whoever waited has been told.
  // REQUIRES: it is unloaded.
  bool LoadForWork();
  bool AdmitNext();
  void FailOverdue();
  void FailEverything(const Error& error);
  // An allocation failed that everything needs. All running requests fail, no slot holds anything,
  // and the loop goes on.
  void RecoverMemory();
  bool DoCommands() { return mailbox_.Do(Mailbox::Kind::kCommand) > 0; }
  // A look may walk over all of the cache, so answers go on between two of them.
  void DoLooks(size_t count_max);
  void ShowCache(const std::function<void(CheckpointCache* cache)>& look);
  void WaitForWork();

  SchedulerContext context_;
  Mailbox mailbox_;
  RequestQueue queue_;
  RunningRequests running_;
  Admission admission_;
  Decoder decoder_;
  Prefetcher prefetcher_;
  Prefill prefill_;
  MemoryGovernor memory_governor_;
  CacheSaver cache_saver_;
  IdleUnloader idle_unloader_;
  SlotCommands slot_commands_;
  IdleWork* idle_work_;  // null once it has ended
};

}  // namespace cairn

#endif  // CAIRN_SCHED_SCHEDULER_H_
