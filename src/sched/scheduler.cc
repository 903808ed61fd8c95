#include "sched/scheduler.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace cairn {
namespace {

// Where none was found, cuts are made as if the usual grid held. `exact` then reuses nothing (see
// Resume).
size_t GridTokens(const Engine& engine, ReuseMode reuse) {
  if (reuse == ReuseMode::kAny) return 1;
  return engine.traits().grid_tokens > 0 ? engine.traits().grid_tokens : kUsualGridTokens;
}

std::string TextOf(const Engine& engine, Token token, const std::vector<std::string>& controls) {
  std::string text = engine.Piece(token, false);
  if (!text.empty() || controls.empty()) return text;
  text = engine.Piece(token, true);
  return std::find(controls.begin(), controls.end(), text) == controls.end() ? "" : text;
}

EndedBy EndedByOf(FinishReason reason, bool stopped_by_text) {
  if (reason == FinishReason::kCancelled) return EndedBy::kCancelled;
  if (reason == FinishReason::kLength) return EndedBy::kLength;
  return stopped_by_text ? EndedBy::kStopText : EndedBy::kModel;
}

// The marks that are obeyed, moved to where checkpoints of them stand.
std::vector<ClientMark> PlacedMarks(const PromptShape& shape, size_t grid_tokens) {
  std::vector<ClientMark> placed;
  for (const ClientMark& mark : shape.marks) {
    if (placed.size() == kMarksMax) break;
    std::vector<Placement> place = {{mark.position, CheckpointClass::kMark}};
    KeepOutOfReasoning(shape, grid_tokens, &place);
    if (!place.empty()) placed.push_back({place.front().position, mark.keep_ms});
  }
  return placed;
}

}  // namespace

Scheduler::Scheduler(Engine* engine, CheckpointCache* cache, const Clock* clock,
                     const SchedulerOptions& options)
    : engine_(engine),
      cache_(cache),
      clock_(clock),
      options_(options),
      grid_tokens_(GridTokens(*engine, options.reuse)),
      keeper_(engine, cache, clock,
              {options.reuse, grid_tokens_, options.keep_ends, options.park, options.first_lineage,
               options.unused_ms, options.move_tokens_min}) {
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
    return Fail(ErrorCode::kTooLong,
                "the request has " + std::to_string(request.prompt.size()) +
                    " tokens, which exceeds the available context size of " +
                    std::to_string(engine_->context_tokens()) +
                    " tokens; shorten it or start the server with a larger --ctx-size");
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
    task.submitted_ms = now_ms;
  }
  {
    const std::lock_guard lock(mutex_);
    if (stopping_) return Fail(ErrorCode::kUnavailable, "the server is shutting down");
    if (queue_.size() + tasks.size() > options_.queue_limit) {
      return Fail(ErrorCode::kUnavailable,
                  std::to_string(queue_.size()) + " requests are waiting already; try again later");
    }
    for (Task& task : tasks) {
      task.number = ++last_number_;
      queue_.push_back(std::move(task));
    }
  }
  arrived_.notify_one();
  return generation;
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
  FinishCancelled();
  const bool ordered = DoOrders();
  MeetReaders();
  const bool admitted = AdmitNext();
  // Before it reads past what it shares with those behind it.
  if (admitted) MeetReaders();
  const bool read = ReadNext();
  const bool decoded = DecodeAnswers();
  PublishSlots();
  const bool busy = ordered || admitted || read || decoded || !running_.empty();
  if (busy) busy_ms_ = clock_->NowMs();
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
  const std::lock_guard lock(mutex_);
  stats_.slots = std::move(slots);
  stats_.running = running_.size();
}

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

void Scheduler::FinishCancelled() {
  for (auto task = running_.begin(); task != running_.end();) {
    Task* cancelled = task->generation->cancelled() ? &*task : nullptr;
    ++task;
    if (cancelled != nullptr) Finish(cancelled, FinishReason::kCancelled);
  }
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
    task.cost.dropped_messages = task.request.dropped_messages;
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

void Scheduler::Resume(Task* task) {
  const GenerationRequest& request = task->request;
  const bool answering = task->first_token_ms > 0;
  cache_->SetNow(clock_->NowMs());
  cache_->TakeNews();
  const auto match = cache_->Match(request.name_space, task->reading);
  if (!answering) cache_->Learn(request.shape, match);
  // Who asked to have the prompt read has had it read.
  const SlotKeeper::Resumed resumed =
      keeper_.Resume({request.name_space, task->reading, request.reuse || answering, &match,
                      request.slot, answering});
  task->slot = resumed.slot;
  task->read_from = SlotOf(*task).tokens().size();
  task->plan.clear();
  task->marks = PlacedMarks(request.shape, grid_tokens_);
  for (const ClientMark& mark : task->marks) KeepMark(*task, mark);
  if (!answering) {
    task->cost.reused_tokens = std::max(task->cost.reused_tokens, task->read_from);
    PushProgress(*task);
  }
  if (!resumed.logits.empty()) return EndReading(task, resumed.logits);
  const MemoryTraits& traits = engine_->traits();
  if (!traits.NeedsSnapshots() || answering) return;
  CheckpointCache::PlanInput input;
  input.read_to = task->read_from;
  input.grid_tokens = grid_tokens_;
  input.piece_tokens = engine_->piece_tokens_max();
  input.snapshot_bytes = traits.snapshot_bytes;
  task->plan = cache_->Plan(request.shape, match, input);
}

void Scheduler::KeepMark(const Task& task, const ClientMark& mark) {
  const TokenSpan prompt = task.request.prompt;
  if (mark.position > SlotOf(task).tokens().size()) return;
  cache_->Keep(task.request.name_space, prompt.first(mark.position), mark.keep_ms);
}

bool Scheduler::ReadNext() {
  for (Task& task : running_) {
    if (task.answering()) continue;
    ReadPiece(&task);
    return true;
  }
  return false;
}

void Scheduler::ReadPiece(Task* task) {
  const Tokens& reading = task->reading;
  Slot& slot = SlotOf(*task);
  const size_t begin = slot.tokens().size();
  const size_t stop = task->plan.empty() ? 0 : task->plan.front().position;
  const size_t end = NextPieceEnd({grid_tokens_, engine_->piece_tokens_max(),
                                   slot.ends_in_answer() && !engine_->traits().NeedsSnapshots()},
                                  begin, reading.size(), stop);
  const double begin_ms = clock_->NowMs();
  if (Status read = slot.Read(TokenSpan(reading).subspan(begin, end - begin)); !read) {
    if (read.error().code == ErrorCode::kNoSpace) return GiveUpRoom(task);
    return FailTask(task, read.error());
  }
  // A graphics card may still be at it; the logits at the end wait for all of it.
  task->read_ms += clock_->NowMs() - begin_ms;
  PushProgress(*task);
  if (end == stop) {
    keeper_.TakeCheckpoint(*task->slot, task->plan.front().checkpoint_class,
                           task->request.shape.turns.size());
    for (const ClientMark& mark : task->marks) {
      if (mark.position == end) KeepMark(*task, mark);
    }
    task->plan.erase(task->plan.begin());
  }
  if (end < reading.size()) return;
  const std::span<const float> logits = engine_->Logits();
  keeper_.ObserveRead(reading.size() - task->read_from, task->read_ms);
  // Taking a snapshot leaves the logits as they are.
  if (task->first_token_ms == 0) keeper_.KeepEnd(*task->slot, logits);
  EndReading(task, logits);
}

void Scheduler::EndReading(Task* task, std::span<const float> logits) {
  if (task->first_token_ms == 0) {
    task->first_token_ms = clock_->NowMs();
    task->cost.prompt_ms = task->first_token_ms - task->admitted_ms;
    task->generation->MarkPromptRead();
  }
  DrawToken(task, logits);
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
  for (size_t i = 0; i < tasks.size(); i += together) {
    if (!DecodeBatch(tasks.subspan(i, together))) break;
  }
  return true;
}

bool Scheduler::DecodeBatch(std::span<Task* const> tasks) {
  std::vector<NextToken> tokens;
  for (const Task* task : tasks) {
    const Slot& slot = SlotOf(*task);
    tokens.push_back({slot.seq(), slot.tokens().size(), *task->next});
  }
  if (Status decoded = engine_->DecodeEach(tokens); !decoded) {
    if (decoded.error().code == ErrorCode::kNoSpace) {
      GiveUpRoom(tasks.back());
      return false;
    }
    for (Task* task : tasks) {
      SlotOf(*task).Lose();
      FailTask(task, decoded.error());
    }
    return true;
  }
  for (size_t i = 0; i < tasks.size(); ++i) {
    SlotOf(*tasks[i]).AddDecoded(tokens[i].token);
    DrawToken(tasks[i], engine_->LogitsOf(i));
  }
  return true;
}

void Scheduler::DrawToken(Task* task, std::span<const float> logits) {
  const GenerationParams& params = task->request.params;
  const Token token = task->sampler->Sample(logits);
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
  if (engine_->IsEndOfGeneration(token) && !params.ignore_end) {
    return Finish(task, FinishReason::kStop);
  }
  task->answer.push_back(token);
  const std::string text = TextOf(*engine_, token, params.control_texts);
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
void Scheduler::GiveUpRoom(Task* task) {
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
  keeper_.ParkAndClear(*task->slot);
  Task back = Remove(task);
  const std::lock_guard lock(mutex_);
  ++stats_.given_up;
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
  event.cost = task.cost;
  event.cost.prompt_ms = clock_->NowMs() - task.admitted_ms;
  task.generation->Push(std::move(event));
}

Scheduler::Task Scheduler::Remove(Task* task) {
  const auto found = std::find_if(running_.begin(), running_.end(),
                                  [&](const Task& other) { return &other == task; });
  CHECK(found != running_.end());
  if (found->slot) keeper_.Release(*found->slot);
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
          task.first_token_ms > 0 ? prompt_tokens : std::min(slot_tokens, prompt_tokens),
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
  Task task = Remove(finished);
  PushText(&task, task.text->Finish());
  if (task.first_token_ms > 0) {
    task.cost.generated_ms = clock_->NowMs() - task.first_token_ms;
  }
  {
    const std::lock_guard lock(mutex_);
    ++stats_.requests;
    stats_.prompt_tokens +=
        read ? task.cost.prompt_tokens : std::max(slot_tokens, task.cost.reused_tokens);
    stats_.reused_tokens += task.cost.reused_tokens;
    stats_.generated_tokens += task.cost.generated_tokens;
    stats_.prompt_ms += read ? task.cost.prompt_ms : clock_->NowMs() - task.admitted_ms;
    stats_.generated_ms += task.cost.generated_ms;
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
  if (task.request.on_answer) task.request.on_answer(task.answer, done.stop_text);
  Observe(task, EndedByOf(reason, !done.stop_text.empty()), slot, slot_tokens);
  task.generation->Push(std::move(done));
  task.generation->MarkPromptRead();
}

void Scheduler::FailTask(Task* failed, Error error) {
  const std::optional<size_t> slot = failed->slot;
  const size_t slot_tokens = SlotTokens(*failed);
  const Task task = Remove(failed);
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
