// `cairn doctor`: what the requests of each client cost over hours and days, and why, with the
// cures: of a running server, or of the traces that `cairn serve --trace-out` wrote.

#ifndef CAIRN_CMD_DOCTOR_DOCTOR_H_
#define CAIRN_CMD_DOCTOR_DOCTOR_H_

#include <cstddef>
#include <string>
#include <vector>

#include "cmd/doctor/doctor_trace.h"

namespace CLI {
class App;
}

namespace cairn {

struct DoctorOptions {
  std::string url = "http://127.0.0.1:8080";
  std::string api_key;
  size_t hours = 24;
  std::vector<std::string> traces;  // files; empty: the running server is asked
  ReplayOptions replay;             // of the traces
};

CLI::App* AddDoctor(CLI::App* app, DoctorOptions* options);
// Prints the report. Returns 1 with a message on standard error if the server does not answer or
// has no such route, or if a file is no trace.
int RunDoctor(const DoctorOptions& options);

}  // namespace cairn

#endif  // CAIRN_CMD_DOCTOR_DOCTOR_H_
