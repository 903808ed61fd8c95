#include "sched/scheduler.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace cairn {
namespace {

constexpr SeqId kOnlySlot = 0;

// Where none was found, cuts are made as if the usual grid held. `exact` then reuses nothing (see
// Resume).
size_t GridTokens(const Engine& engine, ReuseMode reuse) {
  if (reuse == ReuseMode::kAny) return 1;
  return engine.traits().grid_tokens > 0 ? engine.traits().grid_tokens : kUsualGridTokens;
}

}  // namespace

Scheduler::Scheduler(Engine* engine, CheckpointCache* cache, const Clock* clock,
                     const SchedulerOptions& options)
    : engine_(engine),
      cache_(cache),
      clock_(clock),
      options_(options),
      grid_tokens_(GridTokens(*engine, options.reuse)),
      slot_(engine, kOnlySlot, grid_tokens_),
      keeper_(engine, cache, clock, &slot_,
              {options.reuse, grid_tokens_, options.keep_ends, options.park}) {}

Result<std::shared_ptr<Generation>> Scheduler::Submit(GenerationRequest request) {
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
  Task task;
  task.request = std::move(request);
  task.generation = std::make_shared<Generation>();
  task.submitted_ms = clock_->NowMs();
  auto generation = task.generation;
  {
    const std::lock_guard lock(mutex_);
    if (stopping_) return Fail(ErrorCode::kUnavailable, "the server is shutting down");
    if (queue_.size() >= options_.queue_limit) {
      return Fail(ErrorCode::kUnavailable,
                  std::to_string(queue_.size()) + " requests are waiting already; try again later");
    }
    queue_.push_back(std::move(task));
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

void Scheduler::Run() {
  while (true) {
    {
      std::unique_lock lock(mutex_);
      arrived_.wait(lock, [this] { return stopping_ || task_ || !queue_.empty(); });
      if (stopping_) break;
    }
    Step();
  }
  if (task_) FailTask({ErrorCode::kUnavailable, "the server is shutting down"});
  while (auto left = NextTask()) {
    task_ = std::move(left);
    FailTask({ErrorCode::kUnavailable, "the server is shutting down"});
  }
}

bool Scheduler::Step() {
  if (!task_) {
    std::optional<Task> next = NextTask();
    if (!next) return false;
    Admit(std::move(*next));
    return true;
  }
  if (task_->generation->cancelled()) {
    Finish(FinishReason::kCancelled);
  } else if (task_->next) {
    DecodeToken(&*task_);
  } else {
    ReadPiece(&*task_);
  }
  return true;
}

SchedulerStats Scheduler::stats() const {
  const std::lock_guard lock(mutex_);
  return stats_;
}

std::optional<Scheduler::Task> Scheduler::NextTask() {
  const std::lock_guard lock(mutex_);
  if (queue_.empty()) return std::nullopt;
  Task task = std::move(queue_.front());
  queue_.pop_front();
  return task;
}

void Scheduler::Admit(Task task) {
  task.admitted_ms = clock_->NowMs();
  task.cost.queue_ms = task.admitted_ms - task.submitted_ms;
  task.cost.prompt_tokens = task.request.prompt.size();
  task.sampler = engine_->MakeSampler(task.request.params.sampling);
  task.text = std::make_unique<StopText>(task.request.params.stop_texts);
  task_ = std::move(task);
  if (task_->generation->cancelled()) return Finish(FinishReason::kCancelled);
  Resume(&*task_);
}

void Scheduler::Resume(Task* task) {
  const GenerationRequest& request = task->request;
  const auto match = cache_->Match(request.name_space, request.prompt);
  cache_->Learn(request.shape, match);
  const std::vector<float> logits =
      keeper_.Resume(request.name_space, request.prompt, request.reuse, match);
  task->cost.reused_tokens = slot_.tokens().size();
  if (!logits.empty()) return BeginAnswer(task, logits);
  const MemoryTraits& traits = engine_->traits();
  if (!traits.NeedsSnapshots()) return;
  CheckpointCache::PlanInput input;
  input.read_to = slot_.tokens().size();
  input.grid_tokens = grid_tokens_;
  input.piece_tokens = engine_->piece_tokens_max();
  input.snapshot_bytes = traits.snapshot_bytes;
  task->plan = cache_->Plan(request.shape, match, input);
}

void Scheduler::ReadPiece(Task* task) {
  const Tokens& prompt = task->request.prompt;
  const size_t begin = slot_.tokens().size();
  const size_t stop = task->plan.empty() ? 0 : task->plan.front().position;
  const size_t end =
      NextPieceEnd(begin, prompt.size(), grid_tokens_, engine_->piece_tokens_max(), stop);
  const double begin_ms = clock_->NowMs();
  if (Status read = slot_.Read(TokenSpan(prompt).subspan(begin, end - begin)); !read) {
    return FailTask(read.error());
  }
  // A graphics card may still be at it; the logits at the end wait for all of it.
  task->read_ms += clock_->NowMs() - begin_ms;
  if (end == stop) {
    keeper_.TakeCheckpoint(task->plan.front().checkpoint_class, task->request.shape.turns.size());
    task->plan.erase(task->plan.begin());
  }
  if (end < prompt.size()) return;
  const std::span<const float> logits = engine_->Logits();
  keeper_.ObserveRead(prompt.size() - task->cost.reused_tokens, task->read_ms);
  // Taking a snapshot leaves the logits as they are.
  keeper_.KeepEnd(logits);
  BeginAnswer(task, logits);
}

void Scheduler::BeginAnswer(Task* task, std::span<const float> logits) {
  task->first_token_ms = clock_->NowMs();
  task->cost.prompt_ms = task->first_token_ms - task->admitted_ms;
  DrawToken(task, logits);
}

void Scheduler::DecodeToken(Task* task) {
  if (Status decoded = slot_.Decode(*task->next); !decoded) return FailTask(decoded.error());
  DrawToken(task, engine_->Logits());
}

void Scheduler::DrawToken(Task* task, std::span<const float> logits) {
  const GenerationParams& params = task->request.params;
  const Token token = task->sampler->Sample(logits);
  task->next = token;
  if (task->cost.generated_tokens >= params.tokens_max) return Finish(FinishReason::kLength);
  ++task->cost.generated_tokens;
  if (engine_->IsEndOfGeneration(token) && !params.ignore_end) return Finish(FinishReason::kStop);
  PushText(*task, task->text->Push(engine_->Piece(token, false)));
  if (!task->text->stopped_by().empty()) return Finish(FinishReason::kStop);
  const bool full = slot_.tokens().size() + 1 >= engine_->context_tokens();
  if (task->cost.generated_tokens >= params.tokens_max || full) Finish(FinishReason::kLength);
}

void Scheduler::PushText(const Task& task, std::string text) {
  if (text.empty()) return;
  GenerationEvent event;
  event.text = std::move(text);
  task.generation->Push(std::move(event));
}

void Scheduler::Finish(FinishReason reason) {
  Task task = std::move(*task_);
  task_.reset();
  PushText(task, task.text->Finish());
  if (task.first_token_ms > 0) {
    task.cost.generated_ms = clock_->NowMs() - task.first_token_ms;
  }
  {
    const std::lock_guard lock(mutex_);
    ++stats_.requests;
    stats_.prompt_tokens += task.cost.prompt_tokens;
    stats_.reused_tokens += task.cost.reused_tokens;
    stats_.generated_tokens += task.cost.generated_tokens;
    stats_.keeper = keeper_.stats();
    stats_.cache = cache_->stats();
  }
  GenerationEvent done;
  done.kind = GenerationEvent::Kind::kDone;
  done.reason = reason;
  done.stop_text = task.text->stopped_by();
  done.cost = task.cost;
  task.generation->Push(std::move(done));
}

void Scheduler::FailTask(Error error) {
  GenerationEvent failed;
  failed.kind = GenerationEvent::Kind::kFailed;
  failed.error = std::move(error);
  failed.cost = task_->cost;
  task_->generation->Push(std::move(failed));
  task_.reset();
}

}  // namespace cairn
