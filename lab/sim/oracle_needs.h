// OracleNeeds: from where each request of a trace could be gone on with, and what must have been
// kept for it. All that the oracle knows of a trace (docs/oracle.md has the model):
//
//   request 3   [ header |  turn 1  |  turn 2  |   new   ]
//                '-------'----------'                        last seen by request 2: kept since
//                then
//                                    '---------'             last seen by request 1: kept longer
//
// A block's id, or a token's number, stands for what is before it too. Of a request's answer others
// may go on with what its slot held: all of it, or all but the token that was drawn last.

#ifndef CAIRN_LAB_SIM_ORACLE_NEEDS_H_
#define CAIRN_LAB_SIM_ORACLE_NEEDS_H_

#include <cstddef>
#include <vector>

#include "lab/sim/oracle.h"
#include "lab/sim/trace.h"

namespace cairn {

// Part of a prompt whose tokens were all last seen in the same request.
struct OracleRun {
  size_t last_seen = 0;  // a request's number, counted without those that are refused
  size_t end_tokens = 0;
};

// Of one request.
struct OracleNeeds {
  size_t prompt_tokens = 0;
  // The deepest place to go on from if everything were kept; 0: there is none.
  size_t deepest = 0;
  // Up to `deepest`, shallowest first. The deeper, the longer ago, or as long.
  std::vector<OracleRun> runs;
  // Places to go on from where an earlier prompt or the answer to it ended, shallowest first. The
  // others are the multiples of the grid up to the last one before the prompt's end.
  std::vector<size_t> ends;
};

// One for each request that is not too long for the context.
std::vector<OracleNeeds> FindNeeds(const std::vector<TraceStep>& steps, size_t block_tokens,
                                   const OracleInput& input);

}  // namespace cairn

#endif  // CAIRN_LAB_SIM_ORACLE_NEEDS_H_
