// Oracle: how few tokens any cache could have read on a trace, knowing all of it beforehand.
//
// Request j parts from all that came before after l blocks. To resume at depth d <= l it needs,
// from the last request through that place on (t(d), the last before j whose prompt holds block d):
//
//   one snapshot          from t(d) to j
//   the KV of block b     from t(b) to j, for each b < d       (t falls as b grows)
//
// and saves d blocks of reading. What is kept between two requests in a row must fit the memory.
// So the best is a packing: one d for each request, byte-spans under a line. Two relaxations make
// it solvable, and both can only save more than a cache could, so what comes out is a bound:
//
//   1. At t(d) a snapshot at d may be taken, even if that request resumed beyond d.
//   2. The line is held by prices. For any price p(i) >= 0 of a byte between requests i and i + 1,
//
//        saved  <=  sum_i p(i) * memory  +  sum_j max_d (tokens(d) - price of what d needs)
//
//      since a packing that fits pays for no more memory than there is (weak duality). Prices are
//      improved by subgradient steps; every step's value is a bound, the least one is kept. With
//      one price for all times this is the bound PFOO-U of Berger, Beckmann and Harchol-Balter,
//      "Practical Bounds on Optimal Caching with Variable Object Sizes" (2018).
//
// Memory is the cache's budget and all that the slots hold besides.

#ifndef CAIRN_SIM_ORACLE_H_
#define CAIRN_SIM_ORACLE_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "sim/trace.h"

namespace cairn {

struct OracleInput {
  size_t snapshot_bytes = 0;  // 0: prompts can be cut anywhere
  size_t kv_bytes_per_token = 0;
  double memory_bytes = 0;
  size_t grid_tokens = 64;
  size_t rounds = 400;
};

struct OracleBound {
  uint64_t prompt_tokens = 0;
  double saved_tokens_max = 0;

  double read_tokens_min() const { return static_cast<double>(prompt_tokens) - saved_tokens_max; }
};

OracleBound BoundSaved(const std::vector<TraceStep>& steps, size_t block_tokens,
                       const OracleInput& input);

}  // namespace cairn

#endif  // CAIRN_SIM_ORACLE_H_
