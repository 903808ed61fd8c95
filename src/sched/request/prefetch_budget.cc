#include "sched/request/prefetch_budget.h"

#include <algorithm>

namespace cairn {
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
