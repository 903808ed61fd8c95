// Oracle: computes how many tokens any cache could have saved on a trace, with knowledge of all
// requests in advance. docs/oracle.md has the model, the proof and the quality of the bound.
//
//   exact   the best choice of states to keep between requests, found by searching
//           (lab/sim/oracle_exact.h): for short traces, and where everything fits
//   upper   no choice saves more (lab/sim/oracle_prices.h): for all others
//
// Threads: one.

#ifndef CAIRN_LAB_SIM_ORACLE_H_
#define CAIRN_LAB_SIM_ORACLE_H_

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "trace/replay/trace.h"

namespace cairn {

struct OracleInput {
  size_t snapshot_bytes = 0;  // 0: prompts can be truncated anywhere
  size_t kv_bytes_per_token = 0;
  // At or below this depth no snapshot is needed: a sliding window that is not full yet can be
  // truncated like attention KV.
  size_t free_tokens = 0;
  // The budgets of cache and disk, plus everything that the slots hold. REQUIRES: more than 0.
  double memory_bytes = 0;
  // The disk's part of memory_bytes; 0: there is no disk. REQUIRES: less than memory_bytes.
  double disk_bytes = 0;
  // How many tokens are prefilled in the time that the disk takes to read a byte.
  double read_tokens_per_byte = 0;
  size_t grid_tokens = 64;
  // Prompts with this many tokens or more are refused; 0: no limit.
  size_t context_tokens = 0;
  size_t rounds = 400;            // of the search for a lower upper bound
  size_t steps_max = 20'000'000;  // of the exact search; 0: no search
};

enum class BoundKind : uint8_t { kExact, kUpper };
std::string_view BoundKindName(BoundKind kind);

struct OracleBound {
  uint64_t prompt_tokens = 0;  // of all requests but the refused ones
  double saved_tokens_max = 0;
  // The savings of the best choice found, which equal the bound if that is exact; 0: no choice was
  // searched for.
  uint64_t saved_tokens_found = 0;
  // No choice makes the requests wait less, for prefill and for reads from the disk; in tokens that
  // are prefilled in that time.
  double wait_tokens_min = 0;
  BoundKind kind = BoundKind::kUpper;

  double read_tokens_min() const { return static_cast<double>(prompt_tokens) - saved_tokens_max; }
};

// Returns the upper bound; no choice may save as much.
OracleBound BoundSaved(const std::vector<TraceStep>& steps, size_t block_tokens,
                       const OracleInput& input);

// Returns the exact figure if the search finishes within `steps_max`, else the upper bound.
OracleBound BestSaved(const std::vector<TraceStep>& steps, size_t block_tokens,
                      const OracleInput& input);

}  // namespace cairn

#endif  // CAIRN_LAB_SIM_ORACLE_H_
