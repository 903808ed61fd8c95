// `cairn doctor --trace`: the report of GET /cairn/doctor, made of traces (docs/traces.md). A trace
// has no text: a message is known by its place and length, and no place is named.
//
// Any thread.

#ifndef CAIRN_CMD_DOCTOR_DOCTOR_TRACE_H_
#define CAIRN_CMD_DOCTOR_DOCTOR_TRACE_H_

#include <string>
#include <vector>

#include "base/result.h"

namespace cairn {

// Returns the report of all lines; each key of each file is a client. `notes` gets a line for each
// file of which lines could not be read, as the last one after a crash. Returns an error if a file
// cannot be read or has no line of a trace.
Result<std::string> DoctorOfTraces(const std::vector<std::string>& paths, std::string* notes);

}  // namespace cairn

#endif  // CAIRN_CMD_DOCTOR_DOCTOR_TRACE_H_
