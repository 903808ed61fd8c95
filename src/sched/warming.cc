// Reading ahead, while nobody waits: how a conversation comes back is known but for its next
// message (sched/warm_prompt.h). Pieces of it are read one by one, so that a request that comes has
// the machine after one at most, and every slot; what was read until then lies in the slot it was
// read in, and the request goes on from it.

#include <algorithm>
#include <utility>

#include "sched/scheduler.h"

namespace cairn {
namespace {

// That are waiting to be read ahead.
constexpr size_t kWarmPromptsMax = 16;
// Requests that an answer's rendering may be late for.
constexpr size_t kAskedMax = 16;

bool GoesOn(const WarmPrompt& expected, NamespaceId name_space, const Tokens& prompt) {
  return expected.name_space == name_space &&
         CommonPrefix(expected.tokens, prompt) >= expected.answered_tokens;
}

}  // namespace

void Scheduler::Warm(std::vector<WarmPrompt> prompts) {
  {
    const std::lock_guard lock(mutex_);
    for (WarmPrompt& prompt : prompts) warm_queue_.push_back(std::move(prompt));
    while (warm_queue_.size() > kWarmPromptsMax) warm_queue_.pop_front();
    warm_news_ = true;
  }
  arrived_.notify_one();
}

bool Scheduler::WarmNext() {
  {
    const std::lock_guard lock(mutex_);
    warm_news_ = false;
    // The model is not loaded again for what nobody may ask for.
    if (asleep_) warm_queue_.clear();
  }
  if (BringHeaderBack()) return true;
  while (warming_ || TakeWarmPrompt()) {
    const size_t allowed = warm_budget_.Allowed(clock_->NowMs());
    if (allowed < grid_tokens_) {
      // Until a request comes nobody uses the slot.
      if (warm_budget_.LoanLeft() < grid_tokens_) PauseWarming();
      return false;
    }
    if (!warming_->slot && !BeginWarming()) {
      EndWarming();
      continue;
    }
    if (!ReadAhead(allowed)) EndWarming();
    PublishSlots();
    busy_ms_ = clock_->NowMs();
    const std::lock_guard lock(mutex_);
    stats_.warmed_tokens = warm_budget_.warmed();
    stats_.cache = cache_->stats();
    return true;
  }
  return false;
}

bool Scheduler::BringHeaderBack() {
  if (!options_.warm_start || asleep_ || !cache_->saves()) return false;
  if (!headers_) {
    cache_->TakeNews();
    // So that one slot is left for what begins otherwise.
    headers_ = cache_->HeadersWorthMost(std::max<size_t>(1, engine_->slots() - 1));
    std::reverse(headers_->begin(), headers_->end());
  }
  if (headers_->empty()) return false;
  CheckpointCache::StoredHeader header = std::move(headers_->back());
  headers_->pop_back();
  // Where two prompts part is not on the grid.
  header.tokens.resize(header.tokens.size() - header.tokens.size() % grid_tokens_);
  if (header.tokens.empty()) return true;
  Tokens prompt = header.tokens;
  // The last token of a prompt is always read.
  prompt.push_back(prompt.back());
  const auto match = cache_->Match(header.name_space, prompt);
  const SlotNeeds needs{header.name_space, prompt, true, &match};
  bool has_empty = false;
  for (size_t i = 0; i < engine_->slots(); ++i) {
    const TokenSpan held = keeper_.slot(i).tokens();
    if (CommonPrefix(held, prompt) == header.tokens.size()) return true;
    has_empty = has_empty || held.empty();
  }
  if (!has_empty || keeper_.saving() || keeper_.ReachOf(needs).tokens < header.tokens.size())
    return true;
  keeper_.Release(keeper_.Resume(needs).slot);
  PublishSlots();
  return true;
}

bool Scheduler::TakeWarmPrompt() {
  const std::lock_guard lock(mutex_);
  std::erase_if(warm_queue_, [this](const WarmPrompt& prompt) { return IsLate(prompt); });
  if (warm_queue_.empty()) return false;
  warming_ = Warming{};
  warming_->warmed.prompt = std::move(warm_queue_.front());
  warm_queue_.pop_front();
  return true;
}

bool Scheduler::BeginWarming() {
  const WarmPrompt& prompt = warming_->warmed.prompt;
  const size_t end = LastCut(prompt.tokens.size(), grid_tokens_);
  cache_->SetNow(clock_->NowMs());
  cache_->TakeNews();
  const auto match = cache_->Match(prompt.name_space, prompt.tokens);
  SlotNeeds needs{prompt.name_space, prompt.tokens, true, &match};
  // `exact` does not go on from what was generated.
  needs.keeps_answer = prompt.keeps_answer && options_.reuse != ReuseMode::kExact;
  const size_t step = grid_tokens_ > 1 ? grid_tokens_ : kUsualGridTokens;
  if (!keeper_.has_free() || end < keeper_.ReachOf(needs).tokens + step) return false;
  warming_->slot = keeper_.Resume(needs).slot;
  return keeper_.slot(*warming_->slot).tokens().size() < end;
}

bool Scheduler::ReadAhead(size_t tokens_max) {
  const Tokens& tokens = warming_->warmed.prompt.tokens;
  const size_t goal = LastCut(tokens.size(), grid_tokens_);
  Slot& slot = keeper_.slot(*warming_->slot);
  const size_t begin = slot.tokens().size();
  const size_t most = std::min(engine_->piece_tokens_max(), tokens_max);
  // A micro-batch smaller than the grid cannot stay on it; it is cut where requests' prompts are.
  const size_t on_grid = most - most % grid_tokens_;
  const size_t end = NextPieceEnd({grid_tokens_, on_grid > 0 ? on_grid : most,
                                   slot.ends_in_answer() && !engine_->traits().NeedsSnapshots()},
                                  begin, tokens.size(), goal);
  TraceSpan span(options_.trace, "warm");
  const Status read = slot.Read(TokenSpan(tokens).subspan(begin, end - begin));
  trace_.EndWarm(&span, *warming_->slot, {begin, end});
  if (!read) {
    return read.error().code == ErrorCode::kNoSpace && keeper_.EmptyAFreeSlot();
  }
  warm_budget_.OnWarmed(end - begin, clock_->NowMs());
  warming_->warmed.Add({begin, end});
  if (end < goal) return true;
  keeper_.TakeCheckpoint(*warming_->slot, CheckpointClass::kReply, 0);
  return false;
}

void Scheduler::EndWarming() {
  PauseWarming();
  if (!warming_->warmed.read.empty()) warmed_.Add(std::move(warming_->warmed));
  warming_.reset();
}

void Scheduler::PauseWarming() {
  if (!warming_ || !warming_->slot) return;
  keeper_.Release(*warming_->slot);
  warming_->slot.reset();
}

void Scheduler::ForgetWarmed(const Task& task) {
  const GenerationRequest& request = task.request;
  asked_.push_back({request.name_space, task.admission, request.prompt});
  if (asked_.size() > kAskedMax) asked_.pop_front();
  const auto goes_on = [&](const WarmPrompt& prompt) {
    return GoesOn(prompt, request.name_space, request.prompt);
  };
  if (warming_ && goes_on(warming_->warmed.prompt)) EndWarming();
  const std::lock_guard lock(mutex_);
  std::erase_if(warm_queue_, goes_on);
}

bool Scheduler::IsLate(const WarmPrompt& prompt) const {
  return std::any_of(asked_.begin(), asked_.end(), [&](const Asked& asked) {
    return prompt.admission && asked.admission > *prompt.admission &&
           GoesOn(prompt, asked.name_space, asked.prompt);
  });
}

size_t Scheduler::CountWarmed(const GenerationRequest& request, size_t reused) {
  WarmedPrompt* const unfinished = warming_ ? &warming_->warmed : nullptr;
  const size_t used = warmed_.Take(request.name_space, request.prompt, reused, unfinished);
  warm_budget_.OnUsed(used);
  return used;
}

}  // namespace cairn
