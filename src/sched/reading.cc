// How a prompt is read: back to where it can go on from, then piece by piece.

#include <algorithm>
#include <utility>

#include "sched/scheduler.h"

namespace cairn {
namespace {

// Less than this part of a micro-batch is a short read.
constexpr size_t kShortReadShare = 4;

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

// About as much of the nearest prompt as a person reads to see where it parted.
constexpr size_t kNextTokensMax = 64;

std::shared_ptr<const ReuseReport> WithReuse(ReuseReport nearest, ReuseReport reused,
                                             size_t prefetched_tokens) {
  reused.reuse_allowed = nearest.reuse_allowed;
  reused.prompt_tokens = nearest.prompt_tokens;
  reused.shared_tokens = std::max(nearest.shared_tokens, reused.reused_tokens);
  reused.stored_next = std::move(nearest.stored_next);
  reused.prefetched_tokens = std::min(prefetched_tokens, reused.reused_tokens);
  return std::make_shared<const ReuseReport>(std::move(reused));
}

}  // namespace

ReuseReport Scheduler::Nearest(const GenerationRequest& request,
                               const CheckpointCache::MatchResult& match) {
  const TokenSpan prompt = request.prompt;
  ReuseReport nearest;
  nearest.reuse_allowed = request.reuse;
  nearest.prompt_tokens = prompt.size();
  nearest.shared_tokens = match.shared;
  nearest.stored_next = cache_->StoredNext(request.name_space, prompt, kNextTokensMax);
  for (size_t i = 0; i < engine_->slots(); ++i) {
    const Slot& slot = keeper_.slot(i);
    if (slot.name_space() != request.name_space) continue;
    const size_t shared = CommonPrefix(slot.tokens(), prompt);
    const bool ends = shared == slot.tokens().size();
    if (shared == 0 || shared < nearest.shared_tokens) continue;
    if (shared == nearest.shared_tokens && !ends) continue;
    const TokenSpan next = TokenSpan(slot.tokens()).subspan(shared);
    const TokenSpan shown = next.first(std::min(next.size(), kNextTokensMax));
    nearest.shared_tokens = shared;
    nearest.stored_next.assign(shown.begin(), shown.end());
  }
  return nearest;
}

void Scheduler::Resume(Task* task) {
  const GenerationRequest& request = task->request;
  const bool answering = task->first_token_ms > 0;
  // What brings back is no news of how conversations go on.
  const bool asks = !answering && !request.brings_back;
  if (asks) ForgetPrefetched(*task);
  cache_->SetNow(clock_->NowMs());
  cache_->TakeNews();
  if (request.brings_back && IsBroughtBack(task)) return;
  const auto match = cache_->Match(request.name_space, task->reading);
  if (asks) cache_->Learn(request.shape, match);
  ReuseReport nearest;
  if (!answering) nearest = Nearest(request, match);
  trace_.OnSlotWanted();
  // Who asked to have the prompt read has had it read.
  const SlotKeeper::Resumed resumed =
      keeper_.Resume({request.name_space, task->reading, request.reuse || answering, &match,
                      request.slot, answering});
  trace_.OnResumed(resumed.slot, resumed.report);
  CountRestore(resumed.report);
  task->slot = resumed.slot;
  task->read_from = SlotOf(*task).tokens().size();
  task->plan.clear();
  task->marks = PlacedMarks(request.shape, grid_tokens_);
  for (const ClientMark& mark : task->marks) KeepMark(*task, mark);
  if (!answering) {
    task->cost.reused_tokens = std::max(task->cost.reused_tokens, task->read_from);
    const size_t warmed = asks ? CountPrefetched(request, task->read_from) : 0;
    if (task->report == nullptr) {
      task->report = WithReuse(std::move(nearest), resumed.report, warmed);
    }
    PushProgress(*task);
  }
  if (!resumed.logits.empty()) return EndReading(task, resumed.logits);
  if (task->stands_in) return PlanBringingBack(task);
  const MemoryTraits& traits = engine_->traits();
  if (!traits.NeedsSnapshots() || answering) return;
  CheckpointCache::PlanInput input;
  input.read_to = task->read_from;
  input.grid_tokens = grid_tokens_;
  input.chunk_tokens = engine_->chunk_tokens_max();
  input.snapshot_bytes = traits.snapshot_bytes;
  task->plan = cache_->Plan(request.shape, match, input);
}

void Scheduler::CountRestore(const ReuseReport& report) {
  if (report.ram_tokens + report.disk_tokens == 0) return;
  const std::lock_guard lock(mutex_);
  (report.disk_tokens > 0 ? stats_.disk_restore_times : stats_.ram_restore_times)
      .AddMs(report.restore_ms);
}

void Scheduler::KeepMark(const Task& task, const ClientMark& mark) {
  const TokenSpan prompt = task.request.prompt;
  if (mark.position > SlotOf(task).tokens().size()) return;
  cache_->Keep(task.request.name_space, prompt.first(mark.position), mark.keep_ms);
}

size_t Scheduler::UnreadTokens() const {
  size_t tokens = 0;
  for (const Task& task : running_) {
    if (!task.answering()) tokens += task.reading.size() - SlotTokens(task);
  }
  return tokens;
}

bool Scheduler::HasAnswering() const {
  return std::any_of(running_.begin(), running_.end(),
                     [](const Task& task) { return task.answering(); });
}

Contender Scheduler::AsReader(const Task& task) const {
  const size_t read_to = keeper_.slot(*task.slot).tokens().size();
  const double now_ms = clock_->NowMs();
  Contender reader{task.number, task.request.name_space, task.first_token_ms > 0,
                   ReadMs(task.reading.size() - read_to), now_ms - task.submitted_ms};
  const std::lock_guard lock(mutex_);
  for (const Task& waiter : queue_) {
    if (waiter.wait.reader != task.admission) continue;
    const double read_ms = ReadMs(waiter.request.prompt.size() - read_to);
    const double waited_ms = now_ms - waiter.submitted_ms;
    if (read_ms - waited_ms >= reader.read_ms - reader.waited_ms) continue;
    reader.read_ms = read_ms;
    reader.waited_ms = waited_ms;
  }
  return reader;
}

Scheduler::Task* Scheduler::NextReader() {
  std::vector<Task*> reading;
  for (Task& task : running_) {
    if (!task.answering()) reading.push_back(&task);
  }
  if (reading.size() < 2) return reading.empty() ? nullptr : reading.front();
  std::vector<Contender> contenders;
  for (const Task* task : reading) contenders.push_back(AsReader(*task));
  return reading[InOrder(contenders, shares_).front()];
}

// What is nearly read does not wait for its turn: the gap it makes is short, and what it costs the
// answers is owed to them too.
bool Scheduler::ReadNext() {
  Task* const task = NextReader();
  if (task == nullptr) return false;
  const size_t left = task->reading.size() - SlotOf(*task).tokens().size();
  const bool is_short = left <= engine_->chunk_tokens_max() / kShortReadShare;
  if (!HasAnswering()) {
    time_.Forgive();
  } else if (time_.owes() && !is_short) {
    return false;
  }
  PrefillChunk(task);
  return true;
}

// An answer whose slot was given up, and of which no state came back, goes on as if it had never
// stopped: its prompt is cut as it was, and its tokens are decoded one by one as they were.
size_t Scheduler::PromptEnd(const Task& task) const {
  const size_t prompt_tokens = task.request.prompt.size();
  const bool whole = task.reading.size() == prompt_tokens + task.answer.size();
  const bool again = task.first_token_ms > 0 && whole && options_.reuse != ReuseMode::kAny;
  return again ? prompt_tokens : task.reading.size();
}

void Scheduler::PrefillChunk(Task* task) {
  const Tokens& reading = task->reading;
  Slot& slot = SlotOf(*task);
  const size_t begin = slot.tokens().size();
  const size_t prompt_end = PromptEnd(*task);
  const size_t stop = task->plan.empty() ? 0 : task->plan.front().position;
  const ChunkRules rules{grid_tokens_, engine_->chunk_tokens_max(),
                         slot.ends_in_answer() && !engine_->traits().NeedsSnapshots()};
  const bool answered = begin >= prompt_end;
  const size_t end = answered ? begin + 1 : NextChunkEnd(rules, begin, prompt_end, stop);
  const double begin_ms = clock_->NowMs();
  TraceSpan span(options_.trace, "prefill");
  const Status read = answered ? slot.ReadAnswered(reading[begin])
                               : slot.Read(TokenSpan(reading).subspan(begin, end - begin));
  trace_.EndPiece(&span, *task->slot, {begin, end});
  if (!read) {
    if (read.error().code == ErrorCode::kNoSpace) return PreemptForRoom(task);
    return FailTask(task, read.error());
  }
  // A graphics card may still be at it; the logits at the end wait for all of it.
  const double chunk_ms = clock_->NowMs() - begin_ms;
  task->read_ms += chunk_ms;
  prefetch_budget_.OnRead(end - begin);
  keeper_.CountBeside(end - begin);
  shares_.Charge(task->request.name_space, chunk_ms);
  if (HasAnswering()) time_.OnRead(chunk_ms);
  PushProgress(*task);
  if (end == stop) {
    keeper_.TakeCheckpoint(*task->slot, task->plan.front().checkpoint_class,
                           task->request.shape.turns.size());
    for (const ClientMark& mark : task->marks) {
      if (mark.position == end) KeepMark(*task, mark);
    }
    task->plan.erase(task->plan.begin());
  }
  if (task->stands_in && end >= GoalOf(*task)) return EndBringingBack(task);
  if (end < reading.size()) return;
  const std::span<const float> logits = engine_->Logits();
  keeper_.ObserveRead(reading.size() - task->read_from, task->read_ms);
  // Taking a snapshot leaves the logits as they are.
  if (task->first_token_ms == 0) keeper_.KeepEnd(*task->slot, logits);
  EndReading(task, logits);
}

void Scheduler::EndReading(Task* task, std::span<const float> logits) {
  trace_.OnRead(*task->slot);
  if (task->first_token_ms == 0) {
    task->first_token_ms = clock_->NowMs();
    task->cost.prompt_ms = task->first_token_ms - task->admitted_ms;
    {
      const std::lock_guard lock(mutex_);
      stats_.first_token_times.AddMs(task->first_token_ms - task->submitted_ms);
    }
    task->generation->MarkPromptRead();
  }
  SampleToken(task, logits);
}

}  // namespace cairn
