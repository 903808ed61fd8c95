// `cairn doctor`: what the requests of each client cost over hours and days, and why, with the
// cures: of a running server, or of the traces that `cairn serve --trace-out` wrote.

#ifndef CAIRN_CMD_DOCTOR_DOCTOR_H_
#define CAIRN_CMD_DOCTOR_DOCTOR_H_

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace CLI {
class App;
}

namespace cairn {

// The text of `cairn doctor`, made of the body of GET /cairn/doctor. Pure.

// kCorrupt if the body does not have the expected form.
Result<std::string> DoctorView(std::string_view report);

// `cairn doctor --trace`: the report of GET /cairn/doctor, made of traces (docs/traces.md). A trace
// has no text: a message is known by its place and length, and no place is named.
//
// Any thread.

// Returns the report of all lines; each key of each file is a client. `notes` gets a line for each
// file of which lines could not be read, as the last one after a crash. Returns an error if a file
// cannot be read or has no line of a trace.
Result<std::string> DoctorOfTraces(const std::vector<std::string>& paths, std::string* notes);

struct DoctorOptions {
  std::string url = "http://127.0.0.1:8080";
  std::string api_key;
  size_t hours = 24;
  std::vector<std::string> traces;  // files; empty: the running server is asked
};

CLI::App* AddDoctor(CLI::App* app, DoctorOptions* options);
// Prints the report. Returns 1 with a message on standard error if the server does not answer or
// has no such route, or if a file is no trace.
int RunDoctor(const DoctorOptions& options);

}  // namespace cairn

#endif  // CAIRN_CMD_DOCTOR_DOCTOR_H_
