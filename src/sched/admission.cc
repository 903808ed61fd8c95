// Which request of the queue gets a slot next.

#include <algorithm>
#include <map>
#include <utility>

#include "sched/scheduler.h"

namespace cairn {

void Scheduler::ShareFairly() {
  std::set<NamespaceId> active;
  for (const Task& task : running_) active.insert(task.request.name_space);
  {
    const std::lock_guard lock(mutex_);
    for (const Task& task : queue_) active.insert(task.request.name_space);
  }
  shares_.SetActive(active);
}

double Scheduler::ReadMs(size_t tokens) const {
  const double ms_per_token = keeper_.prefill_ms_per_token();
  return static_cast<double>(tokens) * (ms_per_token > 0 ? ms_per_token : 1);
}

void Scheduler::GuessRead(Task* task) {
  if (task->guess.admission == last_admission_) return;
  const GenerationRequest& request = task->request;
  const bool answering = task->first_token_ms > 0;
  const Tokens& prompt = task->sampler == nullptr ? request.prompt : task->reading;
  SlotKeeper::Reach reach;
  if (request.reuse || answering) {
    const auto match = cache_->Match(request.name_space, prompt);
    reach = keeper_.ReachOf({request.name_space, prompt, true, &match, request.slot, answering});
  }
  task->guess = {prompt.size() - reach.tokens, reach.shared_tokens, last_admission_};
}

void Scheduler::GuessReads() {
  std::vector<Task*> ready;
  {
    const std::lock_guard lock(mutex_);
    for (Task& task : queue_) {
      if (task.ready()) ready.push_back(&task);
    }
  }
  if (ready.size() < 2 && running_.empty()) return;
  // Others only add to the queue, and that moves none of its tasks.
  for (Task* task : ready) GuessRead(task);
}

std::vector<size_t> Scheduler::QueueInOrder() {
  std::vector<size_t> ready;
  for (size_t i = 0; i < queue_.size(); ++i) {
    if (queue_[i].ready()) ready.push_back(i);
  }
  if (ready.size() < 2 && running_.empty()) return ready;
  // Those that came a moment ago.
  std::erase_if(ready, [&](size_t i) { return queue_[i].guess.admission != last_admission_; });
  const double now_ms = clock_->NowMs();
  std::vector<Contender> contenders;
  for (const size_t index : ready) {
    const Task& task = queue_[index];
    const bool goes_on = task.sampler != nullptr && !task.preempted;
    const double since_ms = task.preempted ? task.queued_ms : task.submitted_ms;
    contenders.push_back({task.number, task.request.name_space, goes_on, ReadMs(task.guess.tokens),
                          now_ms - since_ms});
  }
  std::vector<size_t> in_order;
  for (const size_t index : InOrder(contenders, shares_)) in_order.push_back(ready[index]);
  return in_order;
}

std::optional<Scheduler::Task> Scheduler::NextTask() {
  GuessReads();
  const std::lock_guard lock(mutex_);
  Reserved reserved;
  for (const size_t index : QueueInOrder()) {
    Task& next = queue_[index];
    if (!MayAdmit(next, reserved)) return std::nullopt;
    if (!Waits(next)) {
      Task task = std::move(next);
      queue_.erase(queue_.begin() + static_cast<std::ptrdiff_t>(index));
      return task;
    }
    if (!std::exchange(next.wait.counted, true)) ++stats_.waited_for_reader;
    // Who passes could take the very slot that is wished for.
    if (next.request.slot) return std::nullopt;
    ++reserved.slots;
    reserved.tokens += next.request.prompt.size() - next.wait.position + 1;
  }
  return std::nullopt;
}

// What those at work hold stays, so a prompt that does not fit beside it waits. The prefix that it
// will share with one of them is in its cells already.
bool Scheduler::MayAdmit(const Task& task, const Reserved& reserved) const {
  if (task.generation->cancelled()) return true;
  if (running_.empty()) return keeper_.has_free();
  const size_t whole = std::max(task.request.prompt.size(), task.reading.size());
  const size_t tokens = whole - std::min(whole, task.guess.shared_tokens);
  const bool has_slot = keeper_.free_slots() > reserved.slots;
  return has_slot && keeper_.HasRoomFor(tokens + 1 + reserved.tokens);
}

// The resume path, and a sampler with its grammar, take the thread's time too.
bool Scheduler::AdmitNext() {
  std::optional<Task> next = NextTask();
  if (!next) return false;
  const NamespaceId name_space = next->request.name_space;
  const double begin_ms = clock_->NowMs();
  Admit(std::move(*next));
  shares_.Charge(name_space, clock_->NowMs() - begin_ms);
  return true;
}

// The answer that loses its slot is stored and goes on later: this costs a restore and no prefill.
void Scheduler::PreemptForShare() {
  const double now_ms = clock_->NowMs();
  std::set<NamespaceId> waiting;
  {
    const std::lock_guard lock(mutex_);
    for (const Task& task : queue_) {
      const bool too_long = now_ms - task.queued_ms > options_.share_wait_ms;
      if (!task.ready() || task.leaves_queue() || task.wait.reader != 0 || !too_long) continue;
      waiting.insert(task.request.name_space);
    }
  }
  if (waiting.empty()) return;
  std::map<NamespaceId, size_t> held;
  for (const Task& task : running_) {
    if (task.slot) ++held[task.request.name_space];
  }
  const NamespaceId waits =
      *std::min_element(waiting.begin(), waiting.end(),
                        [&](NamespaceId a, NamespaceId b) { return held[a] < held[b]; });
  Task* victim = nullptr;
  for (Task& task : running_) {
    const NamespaceId name_space = task.request.name_space;
    const bool more = held[name_space] > held[waits] + 1 || held[waits] == 0;
    if (!task.slot || task.stands_in || name_space == waits || !more) continue;
    if (now_ms - task.slot_ms <= options_.share_wait_ms) continue;
    if (shares_.UsedMs(name_space) < shares_.UsedMs(waits)) continue;
    if (victim == nullptr || held[name_space] >= held[victim->request.name_space]) victim = &task;
  }
  if (victim == nullptr) return;
  victim->preempted = true;
  Requeue(victim);
}

void Scheduler::Admit(Task taken) {
  const auto after = std::find_if(running_.begin(), running_.end(),
                                  [&](const Task& other) { return other.number > taken.number; });
  // Whatever happens from here on, whoever waits for it is told.
  Task& task = *running_.insert(after, std::move(taken));
  const bool first_time = task.sampler == nullptr;
  if (first_time) {
    task.admitted_ms = clock_->NowMs();
    task.cost.queue_ms = task.admitted_ms - task.submitted_ms;
    {
      const std::lock_guard lock(mutex_);
      stats_.queue_times.AddMs(task.cost.queue_ms);
    }
    task.cost.pinned_texts = task.request.pinned_texts;
    task.cost.dropped_messages = task.request.dropped_messages;
    task.sampler = engine_->MakeSampler(task.request.params.sampling);
    task.reasoning = ReasoningMeter(task.request.params.reasoning, engine_);
    task.reading = task.request.prompt;
  }
  if (task.generation->cancelled()) return Finish(&task, FinishReason::kCancelled);
  task.admission = ++last_admission_;
  task.slot_ms = clock_->NowMs();
  task.preempted = false;
  trace_.OnLeavesQueue({task.number, task.queued_ms});
  Resume(&task);
}

}  // namespace cairn
