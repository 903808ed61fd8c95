// How a prompt is read: back to where it can go on from, then piece by piece.

#include <algorithm>
#include <utility>

#include "sched/scheduler.h"

namespace cairn {
namespace {

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

}  // namespace cairn
