#include "sched/steps/prefetcher.h"

#include <algorithm>
#include <utility>

#include "sched/request/prefill_chunks.h"

namespace cairn {
namespace {

// The most prompts that wait to be computed.
constexpr size_t kPromptsMax = 16;
// Recent requests kept, for expected prompts that are rendered after their conversation continued.
constexpr size_t kAskedMax = 16;

bool GoesOn(const PrefetchPrompt& expected, NamespaceId name_space, const Tokens& prompt) {
  return expected.name_space == name_space &&
         CommonPrefix(expected.tokens, prompt) >= expected.answered_tokens;
}

// From an answer's end, which is no cut, the first chunk passes a boundary that is too close.
constexpr size_t kStepsToNextCut = 2;

}  // namespace

void Prefetcher::Add(std::vector<PrefetchPrompt> prompts) {
  const MutexLock lock(mutex_);
  for (PrefetchPrompt& prompt : prompts) prompts_.push_back(std::move(prompt));
  while (prompts_.size() > kPromptsMax) prompts_.pop_front();
}

void Prefetcher::Clear() {
  const MutexLock lock(mutex_);
  prompts_.clear();
}

bool Prefetcher::Step() {
  if (RestorePrefix()) return true;
  if (prefixes_ && !prefixes_->empty()) return false;  // it is being read from disk
  // The next cut may be that far.
  const size_t steps = rules_->cuts().message_starts.empty() ? 1 : kStepsToNextCut;
  const size_t least = steps * rules_->cuts().grid_tokens;
  while (current_ || TakePrompt()) {
    const size_t allowed = budget_.Allowed(clock_->NowMs());
    if (allowed < least) {
      // Only requests increase the loan, and until one comes the slot is not used.
      if (budget_.LoanLeft() < least) Pause();
      return false;
    }
    if (!current_->slot) {
      const Begun begun = Begin();
      if (begun == Begun::kLoading) return false;
      EndLoad();
      if (begun == Begun::kNothing) {
        End();
        continue;
      }
    }
    if (!ComputeChunk(allowed)) End();
    Publish();
    return true;
  }
  return false;
}

bool Prefetcher::HasNoUseFor(TokenSpan tokens) const {
  bool has_empty = false;
  for (size_t i = 0; i < slots_->pool.size(); ++i) {
    const TokenSpan held = slots_->pool.slot(i).tokens();
    if (CommonPrefix(held, tokens) == tokens.size()) return true;
    has_empty = has_empty || held.empty();
  }
  return !has_empty;
}

bool Prefetcher::RestorePrefix() {
  if (!warm_start_ || !cache_->saves()) return false;
  if (!prefixes_) {
    cache_->TakeEvents();
    prefixes_ = FindPrefixesToPreload(*cache_->objects(), slots_->pool.size());
  }
  if (prefixes_->empty() || Restore(prefixes_->back()) == Begun::kLoading) return false;
  EndLoad();
  prefixes_->pop_back();
  return true;
}

Prefetcher::Begun Prefetcher::Restore(const StoredPrefix& prefix) {
  // The divergence of two prompts is seldom a cut.
  const size_t size = prefix.is_conversation
                          ? prefix.tokens.size()
                          : rules_->CutsOf(prefix.tokens).AtOrBefore(prefix.tokens.size());
  const TokenSpan tokens = TokenSpan(prefix.tokens).first(size);
  if (tokens.empty() || HasNoUseFor(tokens) || slots_->pool.saving()) return Begun::kNothing;
  Tokens prompt(tokens.begin(), tokens.end());
  // The last token of a prompt is always computed.
  prompt.push_back(prompt.back());
  auto match = cache_->Match(prefix.name_space, prompt);
  const SlotNeeds needs{prefix.name_space, prompt, true, &match};
  const size_t least = prefix.is_conversation ? kUsualGridTokens : size;
  if (slots_->restorer.ReachOf(needs).tokens < least) return Begun::kNothing;
  if (slots_->restorer.ExceedsMemory(needs)) return Begun::kNothing;
  if (IsLoading(needs)) return Begun::kLoading;
  // Objects that could not be read are gone.
  match = cache_->Match(prefix.name_space, prompt);
  slots_->pool.Release(slots_->restorer.Resume(needs).slot);
  return Begun::kYes;
}

bool Prefetcher::IsLoading(const SlotNeeds& needs) {
  if (!cache_->saves()) return false;
  DiskLoader& loader = cache_->loader();
  if (load_ == 0) {
    const std::vector<uint64_t> ids = slots_->restorer.ToLoad(needs);
    if (ids.empty()) return false;
    load_ = loader.Begin(ids);
  }
  cache_->TakeEvents();
  return loader.IsLoading(load_);
}

void Prefetcher::EndLoad() {
  cache_->loader().End(std::exchange(load_, 0));
}

bool Prefetcher::TakePrompt() {
  const MutexLock lock(mutex_);
  std::erase_if(prompts_, [this](const PrefetchPrompt& prompt) { return IsLate(prompt); });
  if (prompts_.empty()) return false;
  current_ = Current{};
  current_->prefetched.prompt = std::move(prompts_.front());
  prompts_.pop_front();
  return true;
}

Prefetcher::Begun Prefetcher::Begin() {
  const PrefetchPrompt& prompt = current_->prefetched.prompt;
  const size_t end = rules_->CutsOf(prompt.tokens).Last();
  RefreshCache(cache_, clock_->NowMs());
  auto match = cache_->Match(prompt.name_space, prompt.tokens);
  SlotNeeds needs{prompt.name_space, prompt.tokens, true, &match};
  // `exact` does not continue from generated tokens.
  needs.keeps_answer = prompt.keeps_answer && !rules_->exact();
  const size_t grid_tokens = rules_->cuts().grid_tokens;
  const size_t step = grid_tokens > 1 ? grid_tokens : kUsualGridTokens;
  SlotPool& pool = slots_->pool;
  if (!pool.has_free() || end < slots_->restorer.ReachOf(needs).tokens + step) {
    return Begun::kNothing;
  }
  if (slots_->restorer.ExceedsMemory(needs)) return Begun::kNothing;
  if (IsLoading(needs)) return Begun::kLoading;
  match = cache_->Match(prompt.name_space, prompt.tokens);
  current_->slot = slots_->restorer.Resume(needs).slot;
  return pool.slot(*current_->slot).tokens().size() < end ? Begun::kYes : Begun::kNothing;
}

bool Prefetcher::ComputeChunk(size_t tokens_max) {
  const Tokens& tokens = current_->prefetched.prompt.tokens;
  const PromptCuts cuts = rules_->CutsOf(tokens);
  const size_t goal = cuts.Last();
  Slot& slot = slots_->pool.slot(*current_->slot);
  const size_t begin = slot.tokens().size();
  ChunkRules rules = rules_->chunk_rules();
  rules.chunk_tokens_max = std::min(rules.chunk_tokens_max, tokens_max);
  // The rows are not at hand; a request brings them.
  if (cuts.IsMedium(begin)) return false;
  // It keeps to the cuts behind an answer too, because its prompt may go on in any way: it may also
  // be a short turn, which is one chunk.
  if (!cuts.Has(begin) && goal - begin <= rules.turn_tokens_max) return false;
  rules.turn_tokens_max = 0;
  const size_t end = NextChunkEnd(cuts, rules, begin, goal, /*is_clean=*/true);
  TraceSpan span = trace_->Span("prefetch");
  const Status computed = slot.Prefill(TokenSpan(tokens).subspan(begin, end - begin));
  trace_->EndPrefetch(&span, *current_->slot, {begin, end});
  if (!computed) {
    return computed.error().code == ErrorCode::kNoSpace && slots_->offloader.EmptyAFreeSlot();
  }
  budget_.OnPrefetched(end - begin, clock_->NowMs());
  current_->prefetched.Add({begin, end});
  if (end < goal) return true;
  slots_->checkpoints.Take(*current_->slot, CheckpointClass::kReply, 0);
  return false;
}

void Prefetcher::Abort() {
  EndLoad();
  current_.reset();
}

void Prefetcher::OnModelLoaded() {
  EndLoad();
  prefixes_.reset();
}

void Prefetcher::End() {
  if (!current_) return;
  Pause();
  EndLoad();
  if (!current_->prefetched.chunks.empty()) prefetched_.Add(std::move(current_->prefetched));
  current_.reset();
}

void Prefetcher::Pause() {
  if (!has_slot()) return;
  slots_->pool.Release(*current_->slot);
  current_->slot.reset();
}

void Prefetcher::OnRequest(const GenerationRequest& request, uint64_t admission) {
  asked_.push_back({request.name_space, admission, request.prompt});
  if (asked_.size() > kAskedMax) asked_.pop_front();
  const auto goes_on = [&](const PrefetchPrompt& prompt) {
    return GoesOn(prompt, request.name_space, request.prompt);
  };
  if (current_ && goes_on(current_->prefetched.prompt)) End();
  const MutexLock lock(mutex_);
  std::erase_if(prompts_, goes_on);
}

bool Prefetcher::IsLate(const PrefetchPrompt& prompt) const {
  return std::any_of(asked_.begin(), asked_.end(), [&](const Asked& asked) {
    return prompt.admission && asked.admission > *prompt.admission &&
           GoesOn(prompt, asked.name_space, asked.prompt);
  });
}

size_t Prefetcher::CountUsed(const GenerationRequest& request, size_t reused) {
  PrefetchedPrompt* const unfinished = current_ ? &current_->prefetched : nullptr;
  const size_t used = prefetched_.Take(request.name_space, request.prompt, reused, unfinished);
  budget_.OnUsed(used);
  Publish();
  return used;
}

void Prefetcher::Publish() {
  stats_->Update([this](SchedulerStats* stats) {
    stats->prefetch.tokens = budget_.prefetched();
    stats->prefetch.used_tokens = budget_.used();
    stats->cache = cache_->stats();
  });
}

}  // namespace cairn
