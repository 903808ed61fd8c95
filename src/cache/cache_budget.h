// CacheBudget: computes how many bytes the cache may hold while memory is short, and how the budget
// recovers afterwards. Pure: the caller passes measurements and the time.
//
//   memory left                    │ budget
//   ───────────────────────────────┼──────────────────────────────────────────────────────────────
//   more than twice the reserve    │ grows by half of the excess, once memory was not short for
//                                  │ half a minute
//   between                        │ stays as it is
//   less than the reserve, or an   │ shrinks until twice the reserve is left
//   allocation was refused         │
//
// The reserve is a fraction of the memory that the process may use.
//
// Threads: one.

#ifndef CAIRN_CACHE_CACHE_BUDGET_H_
#define CAIRN_CACHE_CACHE_BUDGET_H_

#include <cstddef>
#include <cstdint>

#include "base/memory_watch.h"

namespace cairn {

class CacheBudget {
 public:
  // `asked`: the configured budget, in bytes. The budget never exceeds it.
  explicit CacheBudget(size_t asked) : asked_(asked), now_(asked) {}

  // Replaces the configured budget. One that memory has made smaller grows no faster for it.
  void SetAsked(size_t asked);
  // Returns the budget from now on, in bytes. `held`: the bytes that the cache holds.
  size_t Next(const MemoryRoom& room, size_t held, double now_ms);
  size_t asked() const { return asked_; }
  size_t now() const { return now_; }

  static uint64_t ReserveOf(uint64_t limit_bytes);

 private:
  size_t asked_;
  size_t now_;
  double short_ms_ = 0;  // when memory was last short
};

}  // namespace cairn

#endif  // CAIRN_CACHE_CACHE_BUDGET_H_
