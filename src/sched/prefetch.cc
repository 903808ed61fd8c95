// Reading ahead, while nobody waits: how a conversation comes back is known but for its next
// message (sched/prefetch_prompt.h). Pieces of it are read one by one, so that a request that comes
// has the machine after one at most, and every slot; what was read until then lies in the slot it
// was read in, and the request goes on from it.

#include <algorithm>
#include <utility>

#include "sched/scheduler.h"

namespace cairn {
namespace {

// That are waiting to be read ahead.
constexpr size_t kPrefetchPromptsMax = 16;
// Requests that an answer's rendering may be late for.
constexpr size_t kAskedMax = 16;

bool GoesOn(const PrefetchPrompt& expected, NamespaceId name_space, const Tokens& prompt) {
  return expected.name_space == name_space &&
         CommonPrefix(expected.tokens, prompt) >= expected.answered_tokens;
}

}  // namespace

void Scheduler::Prefetch(std::vector<PrefetchPrompt> prompts) {
  {
    const std::lock_guard lock(mutex_);
    for (PrefetchPrompt& prompt : prompts) prefetch_queue_.push_back(std::move(prompt));
    while (prefetch_queue_.size() > kPrefetchPromptsMax) prefetch_queue_.pop_front();
    prefetch_news_ = true;
  }
  arrived_.notify_one();
}

bool Scheduler::PrefetchNext() {
  {
    const std::lock_guard lock(mutex_);
    prefetch_news_ = false;
    // The model is not loaded again for what nobody may ask for.
    if (asleep_) prefetch_queue_.clear();
  }
  if (BringHeaderBack()) return true;
  while (prefetching_ || TakePrefetchPrompt()) {
    const size_t allowed = prefetch_budget_.Allowed(clock_->NowMs());
    if (allowed < grid_tokens_) {
      // Until a request comes nobody uses the slot.
      if (prefetch_budget_.LoanLeft() < grid_tokens_) PausePrefetching();
      return false;
    }
    if (!prefetching_->slot && !BeginPrefetching()) {
      EndPrefetching();
      continue;
    }
    if (!ReadAhead(allowed)) EndPrefetching();
    PublishSlots();
    busy_ms_ = clock_->NowMs();
    const std::lock_guard lock(mutex_);
    stats_.prefetched_tokens = prefetch_budget_.warmed();
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

bool Scheduler::TakePrefetchPrompt() {
  const std::lock_guard lock(mutex_);
  std::erase_if(prefetch_queue_, [this](const PrefetchPrompt& prompt) { return IsLate(prompt); });
  if (prefetch_queue_.empty()) return false;
  prefetching_ = Prefetching{};
  prefetching_->warmed.prompt = std::move(prefetch_queue_.front());
  prefetch_queue_.pop_front();
  return true;
}

bool Scheduler::BeginPrefetching() {
  const PrefetchPrompt& prompt = prefetching_->warmed.prompt;
  const size_t end = LastCut(prompt.tokens.size(), grid_tokens_);
  cache_->SetNow(clock_->NowMs());
  cache_->TakeNews();
  const auto match = cache_->Match(prompt.name_space, prompt.tokens);
  SlotNeeds needs{prompt.name_space, prompt.tokens, true, &match};
  // `exact` does not go on from what was generated.
  needs.keeps_answer = prompt.keeps_answer && options_.reuse != ReuseMode::kExact;
  const size_t step = grid_tokens_ > 1 ? grid_tokens_ : kUsualGridTokens;
  if (!keeper_.has_free() || end < keeper_.ReachOf(needs).tokens + step) return false;
  prefetching_->slot = keeper_.Resume(needs).slot;
  return keeper_.slot(*prefetching_->slot).tokens().size() < end;
}

bool Scheduler::ReadAhead(size_t tokens_max) {
  const Tokens& tokens = prefetching_->warmed.prompt.tokens;
  const size_t goal = LastCut(tokens.size(), grid_tokens_);
  Slot& slot = keeper_.slot(*prefetching_->slot);
  const size_t begin = slot.tokens().size();
  const size_t most = std::min(engine_->chunk_tokens_max(), tokens_max);
  // A micro-batch smaller than the grid cannot stay on it; it is cut where requests' prompts are.
  const size_t on_grid = most - most % grid_tokens_;
  const size_t end = NextChunkEnd({grid_tokens_, on_grid > 0 ? on_grid : most,
                                   slot.ends_in_answer() && !engine_->traits().NeedsSnapshots()},
                                  begin, tokens.size(), goal);
  TraceSpan span(options_.trace, "warm");
  const Status read = slot.Read(TokenSpan(tokens).subspan(begin, end - begin));
  trace_.EndPrefetch(&span, *prefetching_->slot, {begin, end});
  if (!read) {
    return read.error().code == ErrorCode::kNoSpace && keeper_.EmptyAFreeSlot();
  }
  prefetch_budget_.OnPrefetched(end - begin, clock_->NowMs());
  prefetching_->warmed.Add({begin, end});
  if (end < goal) return true;
  keeper_.TakeCheckpoint(*prefetching_->slot, CheckpointClass::kReply, 0);
  return false;
}

void Scheduler::EndPrefetching() {
  PausePrefetching();
  if (!prefetching_->warmed.read.empty()) prefetched_.Add(std::move(prefetching_->warmed));
  prefetching_.reset();
}

void Scheduler::PausePrefetching() {
  if (!prefetching_ || !prefetching_->slot) return;
  keeper_.Release(*prefetching_->slot);
  prefetching_->slot.reset();
}

void Scheduler::ForgetPrefetched(const Task& task) {
  const GenerationRequest& request = task.request;
  asked_.push_back({request.name_space, task.admission, request.prompt});
  if (asked_.size() > kAskedMax) asked_.pop_front();
  const auto goes_on = [&](const PrefetchPrompt& prompt) {
    return GoesOn(prompt, request.name_space, request.prompt);
  };
  if (prefetching_ && goes_on(prefetching_->warmed.prompt)) EndPrefetching();
  const std::lock_guard lock(mutex_);
  std::erase_if(prefetch_queue_, goes_on);
}

bool Scheduler::IsLate(const PrefetchPrompt& prompt) const {
  return std::any_of(asked_.begin(), asked_.end(), [&](const Asked& asked) {
    return prompt.admission && asked.admission > *prompt.admission &&
           GoesOn(prompt, asked.name_space, asked.prompt);
  });
}

size_t Scheduler::CountPrefetched(const GenerationRequest& request, size_t reused) {
  PrefetchedPrompt* const unfinished = prefetching_ ? &prefetching_->warmed : nullptr;
  const size_t used = prefetched_.Take(request.name_space, request.prompt, reused, unfinished);
  prefetch_budget_.OnUsed(used);
  return used;
}

}  // namespace cairn
