// Which request of the queue gets a slot next.

#include <algorithm>
#include <utility>

#include "sched/scheduler.h"

namespace cairn {

std::optional<Scheduler::Task> Scheduler::NextTask() {
  const std::lock_guard lock(mutex_);
  Reserved reserved;
  for (auto next = queue_.begin(); next != queue_.end(); ++next) {
    if (!next->ready()) continue;
    if (!MayAdmit(*next, reserved)) return std::nullopt;
    if (!Waits(*next)) {
      Task task = std::move(*next);
      queue_.erase(next);
      return task;
    }
    if (!std::exchange(next->wait.counted, true)) ++stats_.waited_for_reader;
    // Who passes could take the very slot that is wished for.
    if (next->request.slot) return std::nullopt;
    ++reserved.slots;
    reserved.tokens += next->request.prompt.size() - next->wait.position + 1;
  }
  return std::nullopt;
}

// What those at work hold stays, so a prompt that does not fit beside it waits.
bool Scheduler::MayAdmit(const Task& task, const Reserved& reserved) const {
  if (task.generation->cancelled()) return true;
  if (running_.empty()) return keeper_.has_free();
  const size_t tokens = std::max(task.request.prompt.size(), task.reading.size());
  const bool has_slot = keeper_.free_slots() > reserved.slots;
  return has_slot && keeper_.HasRoomFor(tokens + 1 + reserved.tokens);
}

bool Scheduler::AdmitNext() {
  std::optional<Task> next = NextTask();
  if (!next) return false;
  Admit(std::move(*next));
  return true;
}

void Scheduler::Admit(Task task) {
  const bool first_time = task.sampler == nullptr;
  if (first_time) {
    task.admitted_ms = clock_->NowMs();
    task.cost.queue_ms = task.admitted_ms - task.submitted_ms;
    task.cost.prompt_tokens = task.request.prompt.size();
    task.cost.pinned_texts = task.request.pinned_texts;
    task.sampler = engine_->MakeSampler(task.request.params.sampling);
    task.text = std::make_unique<StopText>(task.request.params.stop_texts);
    task.reading = task.request.prompt;
  }
  const auto after = std::find_if(running_.begin(), running_.end(),
                                  [&](const Task& other) { return other.number > task.number; });
  Task* admitted = &*running_.insert(after, std::move(task));
  if (admitted->generation->cancelled()) return Finish(admitted, FinishReason::kCancelled);
  admitted->admission = ++last_admission_;
  Resume(admitted);
}

}  // namespace cairn
