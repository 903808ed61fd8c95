// SchedulerClient: what the threads of connections ask of the scheduler (sched/scheduler.h). The
// service, the routes and the program see no more of it.
//
// Threads: any but the context thread.

#ifndef CAIRN_SCHED_SCHEDULER_CLIENT_H_
#define CAIRN_SCHED_SCHEDULER_CLIENT_H_

#include <cstddef>
#include <functional>
#include <memory>
#include <vector>

#include "base/result.h"
#include "cache/checkpoint_cache.h"
#include "sched/answer/generation.h"
#include "sched/context/scheduler_stats.h"
#include "sched/request/generation_request.h"
#include "sched/request/prefetch_prompt.h"

namespace cairn {

class SchedulerClient {
 public:
  virtual ~SchedulerClient() = default;

  // Queues one request per answer. All but the first wait until the first has computed the prompt,
  // and continue from there.
  // kTooLong if the prompt leaves no room for an answer.
  // kInvalidArgument if the prompt is empty, there is no such slot, or the queue can never hold
  // that many answers.
  // kUnavailable if the queue is full, or the scheduler is stopping.
  // REQUIRES: request.answers > 0.
  virtual Result<std::shared_ptr<Generation>> Submit(GenerationRequest request) = 0;

  // Adds prompts that are expected, likeliest first, to be computed while there is no request.
  virtual void Prefetch(std::vector<PrefetchPrompt> prompts) = 0;

  // Returns how many tokens the slot held. Errors as in SlotCommands::Erase.
  virtual Result<size_t> EraseSlot(size_t slot, NamespaceId name_space) = 0;

  // Runs `look` with the cache on the context thread, between two steps, and waits for its end.
  // Does not load an unloaded model. kUnavailable if the scheduler is stopping.
  virtual Status Look(std::function<void(CheckpointCache* cache)> look) = 0;

  // Begins to save the next part of all that is worth saving, as at the server's shutdown. Returns
  // the number of bytes left. Errors as in Look.
  virtual Result<size_t> Flush() = 0;

  // Replaces the budget of the cache in memory. Returns how many bytes left memory. Errors as in
  // Look.
  virtual Result<size_t> SetCacheLimit(size_t bytes) = 0;

  // While draining, prefetches nothing and saves all that is worth saving, as at the server's
  // shutdown: idle slots beside running requests too, the others as soon as there is no request.
  // The remote tier uploads it. Requests are served as ever.
  virtual void SetDraining(bool draining) = 0;

  virtual SchedulerStats stats() const = 0;
};

}  // namespace cairn

#endif  // CAIRN_SCHED_SCHEDULER_CLIENT_H_
