// PrefetchBudget: how much may be read before anyone asks for it (sched/prefetch/prefetcher.h).
//
// What is read ahead is a loan: it is repaid when a request goes on from it, which spares that
// request the same tokens. Whatever happens, with all that is lent and never repaid, the machine
// reads at most 1.25 times what it would have read without (and a first loan):
//
//   read + prefetched  <=  1.25 * (read + used) + first_tokens
//
// So it holds too when turns come so fast that nothing is ever finished, and for clients that never
// come back.
//
// Pure; one thread at a time.

#ifndef CAIRN_SCHED_PREFETCH_PREFETCH_BUDGET_H_
#define CAIRN_SCHED_PREFETCH_PREFETCH_BUDGET_H_

#include <cstddef>
#include <cstdint>

namespace cairn {

struct PrefetchBudgetOptions {
  double computed_share_max = 1.25;
  size_t first_tokens = 1024;
  size_t tokens_per_minute = 0;  // of reading ahead; 0: as many as the loan allows
};

class PrefetchBudget {
 public:
  explicit PrefetchBudget(const PrefetchBudgetOptions& options);

  // Requests read so many tokens on their own time.
  void OnComputed(size_t tokens) { computed_ += tokens; }
  // So many were read ahead.
  void OnPrefetched(size_t tokens, double now_ms);
  // A request went on behind so many of them.
  void OnUsed(size_t tokens) { used_ += tokens; }

  // That may be read ahead now: no more than is left of the loan, nor of the minute's tokens where
  // these are counted.
  size_t Allowed(double now_ms) const;
  // Of the loan; more comes by requests alone.
  size_t LoanLeft() const;

  uint64_t prefetched() const { return prefetched_; }
  uint64_t used() const { return used_; }

 private:
  double MinuteTokens(double now_ms) const;

  const PrefetchBudgetOptions options_;
  uint64_t computed_ = 0;
  uint64_t prefetched_ = 0;
  uint64_t used_ = 0;
  // A bucket that holds a minute's tokens and fills all the time.
  double minute_tokens_ = 0;  // in it at `filled_ms_`
  double filled_ms_ = 0;
};

}  // namespace cairn

#endif  // CAIRN_SCHED_PREFETCH_PREFETCH_BUDGET_H_
