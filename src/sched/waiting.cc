// Who in the queue waits for whom (sched/in_flight.h).

#include <algorithm>

#include "sched/in_flight.h"
#include "sched/scheduler.h"

namespace cairn {
namespace {

// Whether a slot can go on from what another holds while that one is at work. `exact` asks for bits
// that only a slot's own reading gives.
bool SharesInFlight(const MemoryTraits& traits, ReuseMode mode) {
  const bool shares = traits.segments || traits.memory_class == MemoryClass::kRecurrent;
  return shares && mode != ReuseMode::kExact;
}

}  // namespace

// One that was at work before goes on at once.
bool Scheduler::MayWait(const Task& task) {
  return task.ready() && task.request.reuse && task.sampler == nullptr;
}

bool Scheduler::Reads(const Task& task) {
  return !task.answering() && task.first_token_ms == 0;
}

void Scheduler::MeetReaders() {
  if (!SharesInFlight(engine_->traits(), options_.reuse)) return;
  const std::lock_guard lock(mutex_);
  for (Task& waiter : queue_) {
    if (!MayWait(waiter)) continue;
    // When the reader is gone, another that was no better may do.
    if (waiter.wait.reader != 0 && ReaderOf(waiter) == nullptr) {
      const bool counted = waiter.wait.counted;
      waiter.wait = {};
      waiter.wait.counted = counted;
    }
    if (waiter.wait.met == last_admission_) continue;
    std::optional<size_t> reach;
    for (Task& reader : running_) {
      if (reader.admission > waiter.wait.met) Meet(&waiter, &reader, &reach);
    }
    waiter.wait.met = last_admission_;
  }
}

void Scheduler::Meet(Task* waiter, Task* reader, std::optional<size_t>* reach) {
  const GenerationRequest& request = waiter->request;
  if (!Reads(*reader)) return;
  if (reader->request.name_space != request.name_space) return;
  size_t position = SharedPoint(reader->reading, request.prompt, grid_tokens_, options_.keep_ends);
  const bool stops = position < reader->reading.size() && engine_->traits().NeedsSnapshots();
  if (stops) position = StopFor(reader->plan, position);
  ReaderWait& wait = waiter->wait;
  if (position <= SlotOf(*reader).tokens().size()) return;
  if (wait.reader != 0 && position < wait.position + kSparedTokensMin) return;
  if (!*reach) {
    const auto match = cache_->Match(request.name_space, request.prompt);
    *reach =
        keeper_.ReachOf({request.name_space, request.prompt, true, &match, request.slot}).tokens;
  }
  if (position < **reach + kSparedTokensMin) return;
  wait.reader = reader->admission;
  wait.position = position;
  if (stops) AddStop(position, &reader->plan);
}

const Scheduler::Task* Scheduler::ReaderOf(const Task& waiter) const {
  const auto found = std::find_if(running_.begin(), running_.end(), [&](const Task& task) {
    return task.admission == waiter.wait.reader;
  });
  return found == running_.end() ? nullptr : &*found;
}

bool Scheduler::Waits(const Task& task) const {
  if (task.wait.reader == 0 || task.generation->cancelled()) return false;
  const Task* reader = ReaderOf(task);
  if (reader == nullptr || !Reads(*reader)) return false;
  return keeper_.slot(*reader->slot).tokens().size() < task.wait.position;
}

}  // namespace cairn
