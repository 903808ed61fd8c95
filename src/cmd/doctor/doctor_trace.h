// `cairn doctor --trace`: the report of GET /cairn/doctor, made of traces (docs/traces.md). A trace
// has no text: a message is known by its place and length, and no place is named.
//
// What a cure would have saved is found by a replay: the requests are served twice by the server's
// own scheduler and cache on a simulated model (trace/replay/sim_server.h), as they were recorded
// and as they would have been (cmd/doctor/cured_trace.h). The reuse of traces that no server of
// ours wrote is that of the replay too.
//
// Any thread.

#ifndef CAIRN_CMD_DOCTOR_DOCTOR_TRACE_H_
#define CAIRN_CMD_DOCTOR_DOCTOR_TRACE_H_

#include <cstddef>
#include <string>
#include <vector>

#include "base/result.h"

namespace cairn {

// The simulated server.
struct ReplayOptions {
  std::string model_profile = "qwen3.5-4b";
  size_t cache_ram_mib = 8192;
  size_t slots = 4;
};

// Returns the report of all files; each key of each file is a client. `notes` gets a line for each
// file of which lines are cut, as the last one after a crash. Returns an error that names the file,
// and the line if there is one, if a file cannot be read or is no trace.
Result<std::string> DoctorOfTraces(const std::vector<std::string>& paths,
                                   const ReplayOptions& options, std::string* notes);

}  // namespace cairn

#endif  // CAIRN_CMD_DOCTOR_DOCTOR_TRACE_H_
