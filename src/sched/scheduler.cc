#include "sched/scheduler.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <utility>

#include "base/check.h"
#include "engine/token_text.h"
#include "sched/prompt_too_long.h"

namespace cairn {
namespace {

// Where none was found, cuts are made as if the usual grid held. `exact` then reuses nothing (see
// Resume).
size_t GridTokens(const Engine& engine, ReuseMode reuse) {
  if (reuse == ReuseMode::kAny) return 1;
  return engine.traits().grid_tokens > 0 ? engine.traits().grid_tokens : kUsualGridTokens;
}

EndedBy EndedByOf(FinishReason reason, bool stopped_by_text) {
  if (reason == FinishReason::kCancelled) return EndedBy::kCancelled;
  if (reason == FinishReason::kLength) return EndedBy::kLength;
  return stopped_by_text ? EndedBy::kStopText : EndedBy::kModel;
}

std::string_view FinishWord(FinishReason reason) {
  if (reason == FinishReason::kCancelled) return "cancelled";
  return reason == FinishReason::kLength ? "length" : "stop";
}

}  // namespace

Scheduler::Scheduler(Engine* engine, CheckpointCache* cache, const Clock* clock,
                     const SchedulerOptions& options)
    : engine_(engine),
      cache_(cache),
      clock_(clock),
      options_(options),
      grid_tokens_(GridTokens(*engine, options.reuse)),
      keeper_(
          engine, cache, clock,
          {options.reuse, grid_tokens_, options.keep_ends, options.offload, options.first_lineage,
           options.unused_ms, options.move_tokens_min, options.beside_tokens_max, options.trace}),
      trace_(options.trace, engine->slots()),
      time_(options.prefill_share),
      idle_work_(options.idle_work),
      prefetch_budget_(options.warm),
      cache_budget_(options.cache_bytes_max) {
  CHECK(options.reuse != ReuseMode::kExact ||
        (options.move_tokens_min == 0 && !options.context_shift));
  stats_.slots.resize(engine->slots());
  busy_ms_ = clock->NowMs();
}

Status Scheduler::CheckRequest(const GenerationRequest& request) const {
  CHECK(request.answers > 0);
  if (request.prompt.empty()) {
    return Fail(ErrorCode::kInvalidArgument, "the prompt is empty; it needs at least one token");
  }
  if (request.prompt.size() >= engine_->context_tokens()) {
    return tl::unexpected(
        PromptTooLong(std::to_string(request.prompt.size()), engine_->context_tokens()));
  }
  if (request.slot && *request.slot >= engine_->slots()) {
    return Fail(ErrorCode::kInvalidArgument, "there is no slot " + std::to_string(*request.slot) +
                                                 "; slots are numbered from 0 to " +
                                                 std::to_string(engine_->slots() - 1) +
                                                 ", and -1 is any");
  }
  if (request.answers > 1 && request.answers > options_.queue_limit) {
    return Fail(ErrorCode::kInvalidArgument,
                std::to_string(request.answers) + " answers were asked for, and the queue holds " +
                    std::to_string(options_.queue_limit) +
                    "; ask for fewer or start the server with a larger --queue-limit");
  }
  return {};
}

Result<std::shared_ptr<Generation>> Scheduler::Submit(GenerationRequest request) {
  if (Status good = CheckRequest(request); !good) return tl::unexpected(good.error());
  auto generation = std::make_shared<Generation>();
  const double now_ms = clock_->NowMs();
  std::vector<Task> tasks(request.answers);
  for (size_t i = 1; i < tasks.size(); ++i) {
    tasks[i].request = request;
    tasks[i].request.slot.reset();
  }
  tasks.front().request = std::move(request);
  for (size_t i = 0; i < tasks.size(); ++i) {
    Task& task = tasks[i];
    uint32_t& seed = task.request.params.sampling.seed;
    if (seed != SamplingParams{}.seed) seed += static_cast<uint32_t>(i);
    task.generation = generation;
    task.answer_index = i;
    task.submitted_ms = task.queued_ms = now_ms;
    // Here, so that whoever leaves the queue without a slot ends as any other.
    task.cost.prompt_tokens = task.request.prompt.size();
    task.text = std::make_unique<StopText>(task.request.params.stop_texts);
  }
  {
    const std::lock_guard lock(mutex_);
    if (stopping_) return Fail(ErrorCode::kUnavailable, "the server is shutting down");
    if (Status room = MakeQueueRoom(tasks); !room) return tl::unexpected(room.error());
    for (Task& task : tasks) {
      task.number = ++last_number_;
      queue_.push_back(std::move(task));
    }
  }
  arrived_.notify_one();
  return generation;
}

Status Scheduler::MakeQueueRoom(const std::vector<Task>& newcomers) {
  std::vector<QueuePlace> places;
  std::vector<Task*> waiting;
  for (Task& task : queue_) {
    if (task.leaves_queue()) continue;
    places.push_back({task.request.name_space, task.sampler == nullptr});
    waiting.push_back(&task);
  }
  const auto leave = WhoLeaves(places, newcomers.front().request.name_space, newcomers.size(),
                               options_.queue_limit);
  if (!leave) {
    ++stats_.refused;
    return Fail(ErrorCode::kUnavailable,
                std::to_string(waiting.size()) + " requests are waiting already; try again later");
  }
  for (const size_t index : *leave) waiting[index]->refused = true;
  stats_.refused += leave->size();
  return {};
}

void Scheduler::Stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  arrived_.notify_one();
}

bool Scheduler::Step() {
  if (asleep_ && !WakeForWork()) return false;
  WatchMemory();
  TraceSpan span(options_.trace, "step");
  PausePrefetching();
  FinishCancelled();
  FailOverdue();
  ShareFairly();
  const bool ordered = DoOrders();
  MeetReaders();
  const bool admitted = AdmitNext();
  if (!admitted) PreemptForShare();
  // Before it reads past what it shares with those behind it.
  if (admitted) MeetReaders();
  // Before a new prompt takes cells behind theirs: attention passes over all up to the last in use.
  const size_t unread_tokens = UnreadTokens();
  while (keeper_.OffloadIdle(unread_tokens) && !HasAnswering()) {
  }
  const bool read = ReadNext();
  const bool decoded = DecodeAnswers();
  PublishSlots();
  const bool busy = ordered || admitted || read || decoded || !running_.empty();
  if (busy) busy_ms_ = clock_->NowMs();
  trace_.EndStep(&span, busy);
  return busy;
}

SchedulerStats Scheduler::stats() const {
  const std::lock_guard lock(mutex_);
  SchedulerStats stats = stats_;
  stats.waiting = queue_.size();
  stats.saved = cache_->saved_stats();
  return stats;
}

void Scheduler::PublishSlots() {
  std::vector<SlotStats> slots(engine_->slots());
  for (size_t i = 0; i < slots.size(); ++i) slots[i].tokens = keeper_.slot(i).tokens().size();
  for (const Task& task : running_) {
    if (!task.slot) continue;
    SlotStats& slot = slots[*task.slot];
    slot.busy = true;
    slot.prompt_tokens = task.cost.prompt_tokens;
    slot.generated_tokens = task.cost.generated_tokens;
  }
  CountForTrace(slots);
  const std::lock_guard lock(mutex_);
  stats_.slots = std::move(slots);
  stats_.running = running_.size();
}

void Scheduler::CountForTrace(const std::vector<SlotStats>& slots) {
  if (!trace_.on()) return;
  ScheduleTrace::Counts counts;
  counts.running = running_.size();
  for (const SlotStats& slot : slots) counts.slot_tokens += slot.tokens;
  counts.cache_bytes = cache_->stats().bytes;
  {
    const std::lock_guard lock(mutex_);
    counts.waiting = queue_.size();
  }
  trace_.OnCounts(counts);
}

void Scheduler::TakeFromQueue(const std::function<bool(const Task&)>& leaves) {
  const std::lock_guard lock(mutex_);
  // Most steps find none, and a partition allocates.
  if (std::none_of(queue_.begin(), queue_.end(), leaves)) return;
  const auto first = std::stable_partition(queue_.begin(), queue_.end(), std::not_fn(leaves));
  for (auto task = first; task != queue_.end(); ++task) {
    if (task->admitted_ms == 0) task->admitted_ms = clock_->NowMs();
    running_.push_back(std::move(*task));
  }
  queue_.erase(first, queue_.end());
}

void Scheduler::FailOverdue() {
  if (options_.request_ms_max <= 0) return;
  const double begun_before_ms = clock_->NowMs() - options_.request_ms_max;
  const auto overdue = [&](const Task& task) { return task.submitted_ms < begun_before_ms; };
  TakeFromQueue(overdue);
  for (auto task = running_.begin(); task != running_.end();) {
    Task* late = overdue(*task) ? &*task : nullptr;
    ++task;
    if (late == nullptr) continue;
    FailTask(late, {ErrorCode::kTimedOut,
                    "the request took longer than --request-timeout allows; "
                    "what it read of its prompt stays"});
  }
}

// Those in the queue too: nobody waits for them, and they hold places that others want.
void Scheduler::FinishCancelled() {
  TakeFromQueue([](const Task& task) { return task.leaves_queue(); });
  for (auto next = running_.begin(); next != running_.end();) {
    Task* const task = &*next++;
    if (task->generation->cancelled()) {
      Finish(task, FinishReason::kCancelled);
    } else if (task->refused) {
      FailTask(task, {ErrorCode::kUnavailable,
                      "the queue is full, and others wait with fewer requests; try again later"});
    }
  }
}

bool Scheduler::DecodeAnswers() {
  for (auto next = running_.begin(); next != running_.end();) {
    Task* task = &*next++;
    if (!task->answering() || SlotTokens(*task) + 1 < engine_->context_tokens()) continue;
    if (!ShiftContext(task)) Finish(task, FinishReason::kLength);
  }
  std::vector<Task*> answering;
  for (Task& task : running_) {
    if (task.answering()) answering.push_back(&task);
  }
  if (answering.empty()) return false;
  const size_t together = options_.reuse == ReuseMode::kExact ? 1 : answering.size();
  const std::span<Task* const> tasks = answering;
  const double begin_ms = clock_->NowMs();
  for (size_t i = 0; i < tasks.size(); i += together) {
    if (!DecodeBatch(tasks.subspan(i, together))) break;
  }
  time_.OnDecode(clock_->NowMs() - begin_ms);
  return true;
}

bool Scheduler::DecodeBatch(std::span<Task* const> tasks) {
  std::vector<NextToken> tokens;
  for (const Task* task : tasks) {
    const Slot& slot = SlotOf(*task);
    tokens.push_back({slot.seq(), slot.tokens().size(), *task->next});
  }
  const double begin_ms = clock_->NowMs();
  TraceSpan span(options_.trace, "decode");
  const Status decoded = engine_->DecodeEach(tokens);
  trace_.EndDecode(&span, tokens);
  const double ms = clock_->NowMs() - begin_ms;
  for (const Task* task : tasks) {
    shares_.Charge(task->request.name_space, ms / static_cast<double>(tasks.size()));
  }
  keeper_.CountBeside(tasks.size());
  if (!decoded) {
    if (decoded.error().code == ErrorCode::kNoSpace) {
      PreemptForRoom(tasks.back());
      return false;
    }
    for (Task* task : tasks) {
      SlotOf(*task).Lose();
      FailTask(task, decoded.error());
    }
    return true;
  }
  const TraceSpan drawing(options_.trace, "draw");
  for (size_t i = 0; i < tasks.size(); ++i) {
    // The task may be gone afterwards.
    const NamespaceId name_space = tasks[i]->request.name_space;
    const double sample_ms = clock_->NowMs();
    SlotOf(*tasks[i]).AddDecoded(tokens[i].token);
    SampleToken(tasks[i], engine_->LogitsOf(i));
    shares_.Charge(name_space, clock_->NowMs() - sample_ms);
  }
  return true;
}

void Scheduler::SampleToken(Task* task, std::span<const float> logits) {
  const GenerationParams& params = task->request.params;
  const std::optional<Token> forced = task->reasoning.ForceOn(task->sampler.get());
  const Token token = forced ? *forced : task->sampler->Sample(logits);
  if (token == Sampler::kNoToken) {
    return FailTask(task, {ErrorCode::kInvalidArgument,
                           "the grammar allows none of the model's tokens at this point of the "
                           "answer; make it simpler or let it allow more"});
  }
  task->next = token;
  if (task->cost.generated_tokens >= params.tokens_max) {
    return Finish(task, FinishReason::kLength);
  }
  ++task->cost.generated_tokens;
  if (engine_->IsEndOfGeneration(token) && !params.ignore_end && !forced) {
    return Finish(task, FinishReason::kStop);
  }
  task->answer.push_back(token);
  const std::string text = TokenText(*engine_, token, params.control_texts);
  task->reasoning.Add(text);
  task->cost.reasoning_tokens = task->reasoning.tokens();
  if (params.logprobs) {
    task->logprobs.Add(FindLogprobs(*engine_, logits, token, *params.logprobs), text.size());
  }
  PushText(task, task->text->Push(text));
  if (!task->text->stopped_by().empty()) return Finish(task, FinishReason::kStop);
  if (task->cost.generated_tokens >= params.tokens_max) return Finish(task, FinishReason::kLength);
  const bool full = SlotOf(*task).tokens().size() + 1 >= engine_->context_tokens();
  // Other answers' logits are still to be looked at, so nothing is moved before the next token.
  if (full && !options_.context_shift) Finish(task, FinishReason::kLength);
}

// The slots together hold more than the context. What nobody uses goes first, then the request that
// came last; `task` tries again with the next step. One that is alone has all there is, once no
// slot is being saved.
void Scheduler::PreemptForRoom(Task* task) {
  if (keeper_.EmptyAFreeSlot()) return;
  if (running_.size() > 1) return Requeue(&running_.back());
  if (keeper_.saving()) return;
  FailTask(task, {ErrorCode::kInternal, "the context is full although no one else is using it"});
}

void Scheduler::Requeue(Task* task) {
  if (task->answering()) {
    task->reading = SlotOf(*task).tokens();
    task->reading.push_back(*task->next);
    task->next.reset();
  }
  keeper_.OffloadAndClear(*task->slot);
  Task back = Remove(task, "gave up its slot");
  back.queued_ms = clock_->NowMs();
  const std::lock_guard lock(mutex_);
  ++stats_.preempted;
  queue_.push_front(std::move(back));
}

void Scheduler::PushText(Task* task, std::string text) {
  GenerationEvent event;
  event.logprobs = task->logprobs.Take(task->text->unsent_bytes());
  if (text.empty() && event.logprobs.empty()) return;
  event.answer = task->answer_index;
  event.text = std::move(text);
  event.cost = task->cost;
  event.cost.generated_ms = clock_->NowMs() - task->first_token_ms;
  task->generation->Push(std::move(event));
}

// Of the prompt alone: an answer that is read again after its slot was given up is no news. Nor is
// a prompt that another answer has read.
void Scheduler::PushProgress(const Task& task) {
  if (task.first_token_ms > 0 || task.answer_index > 0) return;
  GenerationEvent event;
  event.kind = GenerationEvent::Kind::kProgress;
  event.processed_tokens = SlotTokens(task);
  event.report = task.report;
  event.cost = task.cost;
  event.cost.prompt_ms = clock_->NowMs() - task.admitted_ms;
  task.generation->Push(std::move(event));
}

Scheduler::Task Scheduler::Remove(Task* task, std::string_view why) {
  const auto found = std::find_if(running_.begin(), running_.end(),
                                  [&](const Task& other) { return &other == task; });
  CHECK(found != running_.end());
  const ScheduleTrace::Answer answer{found->number, found->queued_ms};
  if (found->slot) {
    trace_.OnLeavesSlot(*found->slot, answer, found->cost, why);
    keeper_.Release(*found->slot);
  } else {
    trace_.OnLeavesQueue(answer, why);
  }
  found->slot.reset();
  Task removed = std::move(*found);
  running_.erase(found);
  return removed;
}

size_t Scheduler::SlotTokens(const Task& task) const {
  return task.slot ? keeper_.slot(*task.slot).tokens().size() : 0;
}

void Scheduler::Observe(const Task& task, EndedBy ended_by, std::optional<size_t> slot,
                        size_t slot_tokens) const {
  if (options_.observer == nullptr) return;
  const GenerationRequest& request = task.request;
  const size_t prompt_tokens = request.prompt.size();
  options_.observer->OnAnswerEnd({
      .request = task.number - task.answer_index,
      .answer = task.answer_index,
      .answers = request.answers,
      .name_space = request.name_space,
      .shape = request.shape,
      .prompt = request.prompt,
      .tokens = task.answer,
      .ended_by = ended_by,
      .reuse = request.reuse,
      .slot = slot,
      // One that gave up its slot in the middle of its answer had read its prompt.
      .processed_tokens =
          std::min(task.first_token_ms > 0 ? task.cost.prompt_tokens : slot_tokens, prompt_tokens),
      .submitted_ms = task.submitted_ms,
      .cost = task.cost,
  });
}

void Scheduler::Finish(Task* finished, FinishReason reason) {
  GenerationEvent done;
  const std::optional<size_t> slot = finished->slot;
  const size_t slot_tokens = SlotTokens(*finished);
  done.slot = slot.value_or(0);
  // Of a prompt that was given up halfway, the rest is neither read nor reused.
  const bool read = finished->first_token_ms > 0;
  Task task = Remove(finished, FinishWord(reason));
  PushText(&task, task.text->Finish());
  if (task.first_token_ms > 0) {
    task.cost.generated_ms = clock_->NowMs() - task.first_token_ms;
  }
  {
    const std::lock_guard lock(mutex_);
    const size_t prompt_tokens =
        read ? task.cost.prompt_tokens : std::max(slot_tokens, task.cost.reused_tokens);
    ++stats_.requests;
    stats_.prompt_tokens += prompt_tokens;
    stats_.prompt_sources.Add(task.report.get(), prompt_tokens);
    stats_.reused_tokens += task.cost.reused_tokens;
    stats_.generated_tokens += task.cost.generated_tokens;
    stats_.prompt_ms += read ? task.cost.prompt_ms : clock_->NowMs() - task.admitted_ms;
    stats_.generated_ms += task.cost.generated_ms;
    stats_.prefetched_tokens = prefetch_budget_.warmed();
    stats_.prefetched_used_tokens = prefetch_budget_.used();
    stats_.keeper = keeper_.stats();
    stats_.cache = cache_->stats();
    stats_.unsaved_bytes = keeper_.UnstoredBytes();
  }
  done.kind = GenerationEvent::Kind::kDone;
  done.answer = task.answer_index;
  done.reason = reason;
  done.context_full = reason == FinishReason::kLength &&
                      task.cost.generated_tokens < task.request.params.tokens_max;
  done.stop_text = task.text->stopped_by();
  done.cost = task.cost;
  done.report = task.report;
  if (task.request.on_answer)
    task.request.on_answer({task.answer, done.stop_text, reason, task.admission});
  Observe(task, EndedByOf(reason, !done.stop_text.empty()), slot, slot_tokens);
  save_lag_.OnAnswer(clock_->NowMs());
  task.generation->Push(std::move(done));
  task.generation->MarkPromptRead();
}

void Scheduler::FailTask(Task* failed, Error error) {
  const std::optional<size_t> slot = failed->slot;
  const size_t slot_tokens = SlotTokens(*failed);
  const Task task = Remove(failed, "failed");
  {
    const std::lock_guard lock(mutex_);
    ++stats_.failed;
  }
  Observe(task, EndedBy::kFailed, slot, slot_tokens);
  GenerationEvent event;
  event.kind = GenerationEvent::Kind::kFailed;
  event.answer = task.answer_index;
  event.error = std::move(error);
  event.cost = task.cost;
  task.generation->Push(std::move(event));
  task.generation->MarkPromptRead();
}

}  // namespace cairn
