#include "sched/request/prefetch_prompt.h"

#include <algorithm>
#include <utility>

namespace cairn {

namespace {

// Limit of all recorded prompts together, at four bytes per token.
constexpr size_t kRememberedTokensMax = size_t{4} << 20;
constexpr size_t kRememberedMax = 512;

// How many tokens of [0, end) are in any of the ranges.
size_t TokensIn(std::vector<TokenRange> ranges, size_t end) {
  std::sort(ranges.begin(), ranges.end(),
            [](const TokenRange& a, const TokenRange& b) { return a.begin < b.begin; });
  size_t tokens = 0;
  size_t counted_to = 0;
  for (const TokenRange& range : ranges) {
    const size_t from = std::max(range.begin, counted_to);
    const size_t to = std::min(range.end, end);
    if (from >= to) continue;
    tokens += to - from;
    counted_to = to;
  }
  return tokens;
}

void ForgetBefore(size_t position, std::vector<TokenRange>* ranges) {
  for (TokenRange& range : *ranges) range.begin = std::max(range.begin, position);
  std::erase_if(*ranges, [](const TokenRange& range) { return range.begin >= range.end; });
}

}  // namespace

void PrefetchedPrompt::Add(const TokenRange& chunk) {
  if (!chunks.empty() && chunks.back().end == chunk.begin) {
    chunks.back().end = chunk.end;
  } else {
    chunks.push_back(chunk);
  }
}

void PrefetchedPrompts::Add(PrefetchedPrompt prefetched) {
  tokens_ += prefetched.prompt.tokens.size();
  prefetched_.push_back(std::move(prefetched));
  while (prefetched_.size() > kRememberedMax || tokens_ > kRememberedTokensMax) {
    tokens_ -= prefetched_.front().prompt.tokens.size();
    prefetched_.pop_front();
  }
}

size_t PrefetchedPrompts::Take(NamespaceId name_space, TokenSpan prompt, size_t reused,
                               PrefetchedPrompt* unfinished) {
  // A range that was prefetched twice spares a request its tokens only once.
  std::vector<TokenRange> chunks;
  const auto take = [&](PrefetchedPrompt* prefetched) {
    if (prefetched->prompt.name_space != name_space) return;
    const size_t common = CommonPrefix(prefetched->prompt.tokens, prompt);
    for (const TokenRange& range : prefetched->chunks) {
      if (range.begin < common) chunks.push_back({range.begin, std::min(range.end, common)});
    }
    ForgetBefore(common, &prefetched->chunks);
  };
  if (unfinished != nullptr) take(unfinished);
  for (PrefetchedPrompt& prefetched : prefetched_) take(&prefetched);
  std::erase_if(prefetched_, [this](const PrefetchedPrompt& prefetched) {
    if (!prefetched.chunks.empty()) return false;
    tokens_ -= prefetched.prompt.tokens.size();
    return true;
  });
  return TokensIn(std::move(chunks), reused);
}

namespace {

constexpr double kMsPerMinute = 60'000;

}  // namespace

PrefetchBudget::PrefetchBudget(const PrefetchBudgetOptions& options)
    : options_(options), minute_tokens_(static_cast<double>(options.tokens_per_minute)) {}

double PrefetchBudget::MinuteTokens(double now_ms) const {
  const auto full = static_cast<double>(options_.tokens_per_minute);
  return std::min(full, minute_tokens_ + full * (now_ms - filled_ms_) / kMsPerMinute);
}

void PrefetchBudget::OnPrefetched(size_t tokens, double now_ms) {
  prefetched_ += tokens;
  minute_tokens_ = std::max(0.0, MinuteTokens(now_ms) - static_cast<double>(tokens));
  filled_ms_ = now_ms;
}

size_t PrefetchBudget::LoanLeft() const {
  const double most = options_.computed_share_max * static_cast<double>(computed_ + used_) +
                      static_cast<double>(options_.first_tokens);
  const double left = most - static_cast<double>(computed_ + prefetched_);
  return left > 0 ? static_cast<size_t>(left) : 0;
}

size_t PrefetchBudget::Allowed(double now_ms) const {
  const size_t left = LoanLeft();
  if (options_.tokens_per_minute == 0) return left;
  return std::min(left, static_cast<size_t>(MinuteTokens(now_ms)));
}

}  // namespace cairn
