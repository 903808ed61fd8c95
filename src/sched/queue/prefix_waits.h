// PrefixWaits: decides which queued requests wait for a running one that is computing their common
// prefix (sched/request/in_flight.h).
//
// Threads: the context thread.

#ifndef CAIRN_SCHED_QUEUE_PREFIX_WAITS_H_
#define CAIRN_SCHED_QUEUE_PREFIX_WAITS_H_

#include <cstddef>
#include <optional>

#include "cache/checkpoint_cache.h"
#include "engine/engine.h"
#include "sched/context/prompt_rules.h"
#include "sched/queue/request_queue.h"
#include "sched/queue/running_requests.h"
#include "sched/request/request_state.h"
#include "sched/slots/restorer.h"
#include "sched/slots/slot_pool.h"

namespace cairn {

class PrefixWaits {
 public:
  // All must outlive this object.
  PrefixWaits(const Engine* engine, const CheckpointCache* cache, const SlotPool* pool,
              const Restorer* restorer, const PromptRules* rules, RequestQueue* queue,
              RunningRequests* running)
      : engine_(engine),
        cache_(cache),
        pool_(pool),
        restorer_(restorer),
        rules_(rules),
        queue_(queue),
        running_(running) {}

  // Compares queued requests with those that compute their prompts, each pair once, and plans the
  // checkpoints that the queued ones will resume from.
  void Update();
  // Whether the request should stay in the queue because the prefix that it waits for is not
  // computed yet.
  bool Waits(const QueuedRequest& queued) const;

 private:
  // `reach_tokens`: how far `waiter` gets now without prefill; computed when first needed.
  void Meet(QueuedRequest* waiter, RunningRequest* reader, std::optional<size_t>* reach_tokens);

  const Engine* const engine_;
  const CheckpointCache* const cache_;
  const SlotPool* const pool_;
  const Restorer* const restorer_;
  const PromptRules* const rules_;
  RequestQueue* const queue_;
  RunningRequests* const running_;
};

}  // namespace cairn

#endif  // CAIRN_SCHED_QUEUE_PREFIX_WAITS_H_
