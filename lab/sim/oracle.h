// Oracle: how many tokens any cache could have saved on a trace, knowing all of it beforehand. What
// it counts, why no cache can do better and how good the bound is: docs/oracle.md.
//
//   exact   the best packing of what is kept between requests, found by searching
//           (lab/sim/oracle_exact.h): for short traces, and where everything fits
//   upper   no packing is better than this (lab/sim/oracle_prices.h): for all others
//
// Threads: one.

#ifndef CAIRN_LAB_SIM_ORACLE_H_
#define CAIRN_LAB_SIM_ORACLE_H_

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "lab/sim/trace.h"

namespace cairn {

struct OracleInput {
  size_t snapshot_bytes = 0;  // 0: prompts can be cut anywhere
  size_t kv_bytes_per_token = 0;
  // Going on from so few tokens takes no snapshot: a sliding window that is not full yet is cut
  // like attention KV.
  size_t free_tokens = 0;
  // The cache's budget and all that the slots hold besides. REQUIRES: more than 0.
  double memory_bytes = 0;
  size_t grid_tokens = 64;
  // Prompts of so many tokens or more are refused; 0: none.
  size_t context_tokens = 0;
  size_t rounds = 400;            // of improving the upper bound
  size_t steps_max = 20'000'000;  // of the exact search; 0: no search
};

enum class BoundKind : uint8_t { kExact, kUpper };
std::string_view BoundKindName(BoundKind kind);

struct OracleBound {
  uint64_t prompt_tokens = 0;  // of the requests that are not refused
  double saved_tokens_max = 0;
  // Some choice of what to keep saves so many, all of them where the bound is exact; 0: none was
  // looked for.
  uint64_t saved_tokens_found = 0;
  BoundKind kind = BoundKind::kUpper;

  double read_tokens_min() const { return static_cast<double>(prompt_tokens) - saved_tokens_max; }
};

// The upper bound, whether or not it is met.
OracleBound BoundSaved(const std::vector<TraceStep>& steps, size_t block_tokens,
                       const OracleInput& input);

// Exact where the search comes to its end within `steps_max`, else the upper bound.
OracleBound BestSaved(const std::vector<TraceStep>& steps, size_t block_tokens,
                      const OracleInput& input);

}  // namespace cairn

#endif  // CAIRN_LAB_SIM_ORACLE_H_
