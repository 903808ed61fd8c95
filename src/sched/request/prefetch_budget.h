// PrefetchBudget: bounds how many tokens may be prefetched before a request needs them
// (sched/steps/prefetcher.h).
//
// Prefetched tokens are a loan. A request that continues from them repays it, because it is spared
// the same tokens. Including loans that are never repaid, the machine computes at most 1.25 times
// the tokens it would have computed without prefetch (plus a first loan):
//
//   computed + prefetched  <=  1.25 * (computed + used) + first_tokens
//
// So the bound also holds when turns come so fast that no prefetch is ever finished, and for
// clients that never come back.
//
// Pure; one thread at a time.

#ifndef CAIRN_SCHED_REQUEST_PREFETCH_BUDGET_H_
#define CAIRN_SCHED_REQUEST_PREFETCH_BUDGET_H_

#include <cstddef>
#include <cstdint>

namespace cairn {

struct PrefetchBudgetOptions {
  double computed_share_max = 1.25;
  size_t first_tokens = 1024;
  size_t tokens_per_minute = 0;  // prefetched tokens per minute; 0: as many as the loan allows
};

class PrefetchBudget {
 public:
  explicit PrefetchBudget(const PrefetchBudgetOptions& options);

  // Requests computed `tokens` tokens on their own time.
  void OnComputed(size_t tokens) { computed_ += tokens; }
  // `tokens` tokens were prefetched.
  void OnPrefetched(size_t tokens, double now_ms);
  // A request continued from `tokens` prefetched tokens.
  void OnUsed(size_t tokens) { used_ += tokens; }

  // Returns how many tokens may be prefetched now: at most the rest of the loan, and of the
  // minute's tokens if these are limited.
  size_t Allowed(double now_ms) const;
  // The rest of the loan; only requests add to it.
  size_t LoanLeft() const;

  uint64_t prefetched() const { return prefetched_; }
  uint64_t used() const { return used_; }

 private:
  double MinuteTokens(double now_ms) const;

  const PrefetchBudgetOptions options_;
  uint64_t computed_ = 0;
  uint64_t prefetched_ = 0;
  uint64_t used_ = 0;
  // A token bucket that holds one minute's tokens and refills continuously.
  double minute_tokens_ = 0;  // its level at `filled_ms_`
  double filled_ms_ = 0;
};

}  // namespace cairn

#endif  // CAIRN_SCHED_REQUEST_PREFETCH_BUDGET_H_
