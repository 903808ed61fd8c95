// CacheBudget: how much a cache may hold while memory is short, and afterwards. Pure: it is told
// what was seen and when, and says a number.
//
//   left    more than twice the reserve  │ the budget grows again, by half of what is beyond, once
//           ─────────────────────────────┤ nothing was short for half a minute
//           between                      │ as it was
//           ─────────────────────────────┤
//           less than the reserve        │ what is held goes down until twice the reserve is left
//
// The reserve is a part of what the process may use.
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
  // `asked`: what it may hold when nothing is short.
  explicit CacheBudget(size_t asked) : asked_(asked), now_(asked) {}

  // What it may hold from now on. `held`: what it holds.
  size_t Next(const MemoryRoom& room, size_t held, double now_ms);
  size_t asked() const { return asked_; }
  size_t now() const { return now_; }

  static uint64_t ReserveOf(uint64_t limit_bytes);

 private:
  const size_t asked_;
  size_t now_;
  double short_ms_ = 0;  // when it was last
};

}  // namespace cairn

#endif  // CAIRN_CACHE_CACHE_BUDGET_H_
