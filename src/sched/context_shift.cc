// An answer that reaches the end of its context goes on there: the oldest half of what stands
// behind the tokens to keep is dropped, and the rest moves up to them, as llama-server does.

#include <algorithm>

#include "sched/scheduler.h"

namespace cairn {

bool Scheduler::ShiftContext(Task* task) {
  if (!options_.context_shift) return false;
  const GenerationParams& params = task->request.params;
  const size_t tokens = task->cost.prompt_tokens + task->cost.generated_tokens;
  // Without a limit nothing else would end an answer that its model does not end.
  if (params.tokens_max == SIZE_MAX && tokens >= engine_->info().train_context_tokens) return false;
  const size_t bos = engine_->info().adds_bos ? 1 : 0;
  const size_t keep = params.keep_tokens < 0 ? task->cost.prompt_tokens
                                             : bos + static_cast<size_t>(params.keep_tokens);
  TraceSpan span(options_.trace, "context shift");
  const size_t dropped = keeper_.DropOldest(*task->slot, keep);
  task->cost.shifted_tokens += dropped;
  span.Add("slot", *task->slot).Add("dropped", dropped);
  return dropped > 0;
}

}  // namespace cairn
