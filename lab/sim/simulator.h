// Simulate: replays a trace on one simulated server (trace/replay/sim_server.h), and says what no
// cache could have saved.
//
//   Trace ─> Interleave ─> SimServer
//
// Threads: one.

#ifndef CAIRN_LAB_SIM_SIMULATOR_H_
#define CAIRN_LAB_SIM_SIMULATOR_H_

#include <cstddef>
#include <functional>
#include <vector>

#include "base/result.h"
#include "lab/sim/oracle.h"
#include "trace/replay/sim_server.h"
#include "trace/replay/trace.h"

namespace cairn {

// `on_progress` is called with the steps done; may be empty. kInvalidArgument: no such policy.
Result<SimReport> Simulate(const std::vector<TraceStep>& steps, size_t block_tokens,
                           const SimOptions& options,
                           const std::function<void(size_t done)>& on_progress = {});

// Returns the most bytes that the slots hold, in addition to the cache.
double LiveBytesMax(const std::vector<TraceStep>& steps, const SimOptions& options);

// Returns the oracle's input for a bound on the savings of Simulate() with these options.
OracleInput OracleInputFor(const std::vector<TraceStep>& steps, const SimOptions& options);

}  // namespace cairn

#endif  // CAIRN_LAB_SIM_SIMULATOR_H_
