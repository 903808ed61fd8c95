// PrefixWaits: decides which queued requests wait for a running one that is computing their common
// prefix.
//
// A request whose prompt shares a prefix with one that is being computed waits in the queue until
// that prefix is computed, and continues from there.
//
//   computing | system prefix, tools | task of A ............ |
//                                    '- stops here for a checkpoint
//   queued    | system prefix, tools | task of B |     waits until then, forks, prefills its task
//   queued    | system prefix, tools | task of A ............ |     waits until the end, prefills
//                                                                   nothing
//
// Waiting does not delay the request that waits: prompts are computed one at a time, and the
// running request has the better of both places in the order. Waits form no ring and always end: a
// running request has a slot and makes progress.
//
// Threads: the context thread; functions any.

#ifndef CAIRN_SCHED_QUEUE_PREFIX_WAITS_H_
#define CAIRN_SCHED_QUEUE_PREFIX_WAITS_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/tokens.h"
#include "cache/checkpoint_cache.h"
#include "engine/engine.h"
#include "policy/placement.h"
#include "sched/context/prompt_rules.h"
#include "sched/queue/request_queue.h"
#include "sched/queue/running_requests.h"
#include "sched/request/request_state.h"
#include "sched/slots/restorer.h"
#include "sched/slots/slot_pool.h"

namespace cairn {

// Waiting must spare at least this many tokens: one step of the usual grid, the least that can be
// gained. Its only cost is the snapshot that the running request takes.
inline constexpr size_t kSparedTokensMin = 64;
// A checkpoint that is planned less than this many tokens before the divergence of two prompts
// serves both.
inline constexpr size_t kStopNearTokens = 64;

// Returns the deepest position at which `waiter` could continue from what `reader` will have
// computed: on the grid and before its last chunk; or the end, if both prompts are equal and
// `keeps_ends` is set. 0 if there is none. REQUIRES: neither is empty.
size_t SharedPoint(TokenSpan reader, TokenSpan waiter, const CutRules& rules, bool keeps_ends);

// Returns the stop of `plan` (nearest first) that serves for `position`, or `position` itself.
size_t StopFor(const std::vector<Placement>& plan, size_t position);
// Adds a checkpoint where prompts diverge, unless there is one.
void AddStop(size_t position, std::vector<Placement>* plan);

class PrefixWaits {
 public:
  // All must outlive this object.
  PrefixWaits(const Model* model, const CheckpointCache* cache, const SlotPool* pool,
              const Restorer* restorer, const PromptRules* rules, RequestQueue* queue,
              RunningRequests* running)
      : model_(model),
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

  const Model* const model_;
  const CheckpointCache* const cache_;
  const SlotPool* const pool_;
  const Restorer* const restorer_;
  const PromptRules* const rules_;
  RequestQueue* const queue_;
  RunningRequests* const running_;
};

}  // namespace cairn

#endif  // CAIRN_SCHED_QUEUE_PREFIX_WAITS_H_
