#include "sched/queue/running_requests.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace cairn {

bool RunningRequests::has_decoding() const {
  return std::any_of(requests_.begin(), requests_.end(),
                     [](const RunningRequest& request) { return request.decodes(); });
}

bool RunningRequests::has_unpaused() const {
  return std::any_of(requests_.begin(), requests_.end(),
                     [](const RunningRequest& request) { return !request.paused; });
}

size_t RunningRequests::slot_tokens(const RunningRequest& request) const {
  return request.slot ? pool_->slot(*request.slot).tokens().size() : 0;
}

size_t RunningRequests::unprefilled_tokens() const {
  size_t tokens = 0;
  for (const RunningRequest& request : requests_) {
    if (!request.answering()) tokens += request.prefill_tokens.size() - slot_tokens(request);
  }
  return tokens;
}

const RunningRequest* RunningRequests::FindAdmission(uint64_t admission) const {
  const auto found =
      std::find_if(requests_.begin(), requests_.end(),
                   [&](const RunningRequest& request) { return request.admission == admission; });
  return found == requests_.end() ? nullptr : &*found;
}

RunningRequest* RunningRequests::Admit(RequestState queued) {
  const auto after =
      std::find_if(requests_.begin(), requests_.end(),
                   [&](const RunningRequest& other) { return other.number > queued.number; });
  // Added first, so that its client gets a result whatever happens from here on.
  RunningRequest& request = *requests_.emplace(after, std::move(queued));
  if (!request.was_admitted()) {
    request.times.admitted_ms = clock_->NowMs();
    request.cost.queue_ms = request.times.admitted_ms - request.times.submitted_ms;
    stats_->Update(
        [&](SchedulerStats* stats) { stats->latencies.queue.AddMs(request.cost.queue_ms); });
    request.cost.pinned_texts = request.request.pinned_texts;
    request.cost.dropped_messages = request.request.dropped_messages;
    request.sampler = model_->MakeSampler(request.request.params.sampling);
    request.reasoning = ReasoningMeter(request.request.params.reasoning, model_);
    request.prefill_tokens = request.request.prompt;
  }
  if (request.generation->cancelled()) {
    Finish(&request, FinishReason::kCancelled);
    return nullptr;
  }
  request.admission = ++last_admission_;
  request.slot_ms = clock_->NowMs();
  trace_->OnLeavesQueue({request.number, request.times.queued_ms});
  return &request;
}

RequestState RunningRequests::Remove(RunningRequest* request, std::string_view why) {
  const auto found = std::find_if(requests_.begin(), requests_.end(),
                                  [&](const RunningRequest& other) { return &other == request; });
  CHECK(found != requests_.end());
  const ScheduleTrace::Answer answer{found->number, found->times.queued_ms};
  if (found->slot) {
    found->drafts.Release(pool_->slot(*found->slot).tokens());
    trace_->OnLeavesSlot(*found->slot, answer, found->cost, why);
    pool_->Release(*found->slot);
  } else {
    trace_->OnLeavesQueue(answer, why);
  }
  RequestState removed = std::move(*found);
  requests_.erase(found);
  return removed;
}

// A client that asks for the figures when its answer has ended must not find it running.
RequestState RunningRequests::End(RunningRequest* request, std::string_view why) {
  RequestState ended = Remove(request, why);
  PublishSlots();
  return ended;
}

void RunningRequests::Finish(RunningRequest* request, FinishReason reason) {
  const AnswerReporter::SlotUse use{request->slot, slot_tokens(*request)};
  answer_reporter_.Finish(End(request, FinishWord(reason)), use, reason);
}

void RunningRequests::Fail(RunningRequest* request, Error error) {
  const AnswerReporter::SlotUse use{request->slot, slot_tokens(*request)};
  answer_reporter_.Fail(End(request, "failed"), use, std::move(error));
}

void RunningRequests::FailAll(const Error& error) {
  while (!requests_.empty()) Fail(&requests_.front(), error);
}

void RunningRequests::FailIf(const std::function<bool(const RequestState&)>& leaves,
                             const Error& error) {
  std::vector<QueuedRequest> queued = queue_->TakeIf(leaves);
  for (auto next = requests_.begin(); next != requests_.end();) {
    RunningRequest* const request = &*next++;
    if (leaves(*request)) Fail(request, error);
  }
  for (QueuedRequest& request : queued) answer_reporter_.FailQueued(std::move(request), error);
}

// Cancelled requests need no more work, but hold places in the queue that others need.
void RunningRequests::EndLeaving() {
  std::vector<QueuedRequest> queued =
      queue_->TakeIf([](const QueuedRequest& request) { return request.leaves_queue(); });
  for (auto next = requests_.begin(); next != requests_.end();) {
    RunningRequest* const request = &*next++;
    if (request->generation->cancelled()) Finish(request, FinishReason::kCancelled);
  }
  for (QueuedRequest& request : queued) {
    if (request.generation->cancelled()) {
      answer_reporter_.FinishQueued(std::move(request), FinishReason::kCancelled);
      continue;
    }
    answer_reporter_.FailQueued(
        std::move(request),
        {ErrorCode::kUnavailable,
         "the queue is full, and other clients have fewer requests in it; try again later"});
  }
}

// Clients read at any time; one step sees one state of what they have read.
void RunningRequests::UpdatePauses() {
  has_paused_ = false;
  for (RunningRequest& request : requests_) {
    const bool paused = request.answering() && request.generation->behind();
    if (paused && !request.paused) request.paused_ms = clock_->NowMs();
    request.paused = paused;
    has_paused_ = has_paused_ || request.paused;
  }
  queue_->ForEach([this](QueuedRequest* queued) {
    if (!queued->paused) return;
    queued->paused = queued->generation->behind();
    has_paused_ = has_paused_ || queued->paused;
    // It did not wait for a slot until now.
    if (!queued->paused) queued->times.queued_ms = clock_->NowMs();
  });
}

void RunningRequests::Preempt(RunningRequest* request, bool for_share) {
  if (request->answering()) {
    request->prefill_tokens = pool_->slot(*request->slot).tokens();
    request->prefill_tokens.push_back(*request->next);
  }
  offloader_->OffloadAndClear(*request->slot, true);
  QueuedRequest back{Remove(request, "preempted")};
  back.preempted = for_share || back.paused;
  back.times.queued_ms = clock_->NowMs();
  stats_->Update([](SchedulerStats* stats) { ++stats->preempted; });
  queue_->PushFront(std::move(back));
}

void RunningRequests::PreemptForRoom(RunningRequest* request) {
  if (offloader_->EmptyAFreeSlot()) return;
  if (requests_.size() > 1) {
    const auto paused = std::find_if(requests_.rbegin(), requests_.rend(),
                                     [](const RunningRequest& other) { return other.paused; });
    return Preempt(paused == requests_.rend() ? &requests_.back() : &*paused, false);
  }
  if (pool_->saving()) return;
  Fail(request, {ErrorCode::kInternal, "the context is full although no other request uses it"});
}

void RunningRequests::PublishSlots() {
  std::vector<SlotStats> slots(model_->slots());
  for (size_t i = 0; i < slots.size(); ++i) {
    slots[i].tokens = pool_->slot(i).tokens().size();
  }
  for (const RunningRequest& request : requests_) {
    if (!request.slot) continue;
    SlotStats& slot = slots[*request.slot];
    slot.busy = true;
    slot.prompt_tokens = request.cost.prompt_tokens;
    slot.generated_tokens = request.cost.generated_tokens;
  }
  CountForTrace(slots);
  stats_->Update([&](SchedulerStats* stats) {
    for (const SlotStats& slot : slots) {
      stats->slot_tokens_max = std::max(stats->slot_tokens_max, slot.tokens);
    }
    stats->slots = std::move(slots);
    stats->open.running = requests_.size();
  });
}

void RunningRequests::CountForTrace(const std::vector<SlotStats>& slots) {
  if (!trace_->on()) return;
  ScheduleTrace::Counts counts;
  counts.running = requests_.size();
  counts.waiting = queue_->size();
  for (const SlotStats& slot : slots) counts.slot_tokens += slot.tokens;
  counts.cache_bytes = cache_->stats().bytes;
  trace_->OnCounts(counts);
}

}  // namespace cairn
