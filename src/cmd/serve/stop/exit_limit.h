// ExitLimit: ends the process if its end takes longer than it may.
//
// A request's handler, the disk or the accelerator may never come back. Their threads hold parts of
// the server, so that they cannot be joined, but nothing is lost by an exit: what was saved is
// complete, and files are renamed into place.
//
//   SIGTERM ──> Arm(limit of the stop) … saved ──> SetCode(0), Arm(a moment) … ──> the end of
//   main()
//                         └── over ────────────────────────────────┴── over ──> exit, with a line
//
// The thread starts with the object, because a system that is out of memory starts none later. It
// outlives the object, which ends before the parts that may hang. It takes no signals.
//
// Threads: any.

#ifndef CAIRN_CMD_SERVE_STOP_EXIT_LIMIT_H_
#define CAIRN_CMD_SERVE_STOP_EXIT_LIMIT_H_

#include <memory>

#include "cmd/serve/base/server_log.h"

namespace cairn {

class ExitLimit {
 public:
  // `log` gets the line. Until SetCode() the exit code is 1.
  explicit ExitLimit(const ServerLog& log);

  // The process exits after so many milliseconds if it has not ended by then. A later call can only
  // shorten the time.
  void Arm(double ms);
  // Sets the exit code.
  void SetCode(int code);

 private:
  struct State;
  static void Wait(State* state);

  const std::shared_ptr<State> state_;
};

}  // namespace cairn

#endif  // CAIRN_CMD_SERVE_STOP_EXIT_LIMIT_H_
