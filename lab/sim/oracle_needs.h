// OracleNeeds: the resume points of each request of a trace, and the KV and snapshots that must
// have been kept for them. The oracle needs nothing else of a trace (docs/oracle.md has the model):
//
//   request 3   [ system prefix |  turn 1  |  turn 2  |   new   ]
//                '---------------'----------'                       last seen by request 2: its KV
//                                                                   is kept since then
//                                           '----------'            last seen by request 1: longer
//
// A block's id, or a token's number, identifies the whole prefix that ends with it. Later requests
// may resume after an answer's tokens that its slot holds: all, or all but the last sampled one.

#ifndef CAIRN_LAB_SIM_ORACLE_NEEDS_H_
#define CAIRN_LAB_SIM_ORACLE_NEEDS_H_

#include <cstddef>
#include <vector>

#include "lab/sim/oracle.h"
#include "trace/replay/trace.h"

namespace cairn {

// Part of a prompt whose tokens were all last seen in the same request.
struct OracleRun {
  size_t last_seen = 0;  // a request's index among those that are not refused
  size_t end_tokens = 0;
};

// The resume points of one request.
struct OracleNeeds {
  size_t prompt_tokens = 0;
  // The deepest resume point if everything were kept; 0: there is none.
  size_t deepest = 0;
  // Runs up to `deepest`, shallowest first; `last_seen` never increases with depth.
  std::vector<OracleRun> runs;
  // Resume points at the end of an earlier prompt or its answer, shallowest first. Others are the
  // multiples of the grid up to the last one before the prompt's end.
  std::vector<size_t> ends;
};

// Returns one entry for each request that fits into the context.
std::vector<OracleNeeds> FindNeeds(const std::vector<TraceStep>& steps, size_t block_tokens,
                                   const OracleInput& input);

}  // namespace cairn

#endif  // CAIRN_LAB_SIM_ORACLE_NEEDS_H_
