// Bringing a conversation back to the place of one of its checkpoints before anyone goes on from
// there, because a person wants it so (api/cache_api.h):
//
//   path   | restored, or joined    | read              | rest |
//          '- as for any request ---'- no way led there '- a few tokens behind the last cut
//
// The last token of a prompt is read for its logits. Nobody wants those here, and what follows the
// path is not known: a token stands in for it, and is never read. Nor is what stands behind the
// last cut, which whoever goes on from here reads again to stay on the grid. Where the checkpoint
// has logits, it is a prompt's very end, and somebody may ask for an answer to that once more: then
// the path is read as that prompt was.
//
// What a slot has in it already, or is set to from memory in no time, is left where it is: a
// longer conversation is not cut for one of its own stones.

#include <algorithm>
#include <utility>

#include "sched/scheduler.h"

namespace cairn {

size_t Scheduler::GoalOf(const Task& task) const {
  return task.stands_in ? LastCut(task.reading.size(), grid_tokens_) : task.reading.size();
}

bool Scheduler::IsBroughtBack(Task* task) {
  const GenerationRequest& request = task->request;
  const Tokens& path = request.prompt;
  if (!task->stands_in) {
    const auto known = cache_->Match(request.name_space, path);
    const bool found =
        !known.checkpoints.empty() && known.checkpoints.back().position == path.size();
    if (found) task->brought_class = known.checkpoints.back().checkpoint_class;
    task->stands_in = !found || known.checkpoints.back().logits_bytes == 0;
    if (task->stands_in) task->reading.push_back(path.back());
  }
  const auto match = cache_->Match(request.name_space, task->reading);
  auto report = keeper_.AtHand({request.name_space, task->reading, true, &match});
  if (!report || report->reused_tokens < GoalOf(*task)) return false;
  report->prompt_tokens = path.size();
  report->shared_tokens = report->reused_tokens;
  task->cost.reused_tokens = report->reused_tokens;
  task->report = std::make_shared<const ReuseReport>(std::move(*report));
  EndBringingBack(task);
  return true;
}

void Scheduler::PlanBringingBack(Task* task) {
  const size_t goal = GoalOf(*task);
  const Slot& slot = SlotOf(*task);
  // Where a piece behind an answer is a long one, no conversation is cut before its end.
  const bool is_long = slot.ends_in_answer() && !engine_->traits().NeedsSnapshots();
  const size_t first_cut =
      is_long ? FirstCutAfter(task->read_from, grid_tokens_) : task->read_from + 1;
  if (goal < first_cut) return EndBringingBack(task);
  task->plan = {{goal, task->brought_class}};
}

void Scheduler::EndBringingBack(Task* task) {
  task->first_token_ms = clock_->NowMs();
  task->cost.prompt_ms = task->first_token_ms - task->admitted_ms;
  if (task->slot) {
    keeper_.ObserveRead(SlotTokens(*task) - task->read_from, task->read_ms);
    task->cost.prompt_tokens = SlotTokens(*task);
  } else {
    task->cost.prompt_tokens = task->cost.reused_tokens;
  }
  Finish(task, FinishReason::kLength);
}

}  // namespace cairn
