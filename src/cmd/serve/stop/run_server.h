// RunServer: runs a server of `cairn serve` until it ends, with its signals on a thread of their
// own.

#ifndef CAIRN_CMD_SERVE_STOP_RUN_SERVER_H_
#define CAIRN_CMD_SERVE_STOP_RUN_SERVER_H_

#include <csignal>
#include <string>
#include <system_error>

#include "base/result.h"
#include "cmd/serve/stop/signal_thread.h"

namespace cairn {

// Returns the exit code. A system that starts no more threads is an error of the start. `Server`
// has Run(), and for the thread of the signals Reload() and StopOnSignal(signal); log() is its
// ServerLog. REQUIRES: no other thread has been started.
template <typename Server>
int RunServer(Server* server) {
  Status served;
  try {
    const SignalThread signals([server](int signal) {
      if (signal == SIGHUP) {
        server->Reload();
      } else {
        server->StopOnSignal(signal);
      }
    });
    served = server->Run();
  } catch (const std::system_error& error) {
    served = Fail(ErrorCode::kUnavailable,
                  std::string("the system starts no more threads (") + error.what() +
                      "); raise the limit of tasks: ulimit -u, TasksMax, pids.max");
  }
  if (served) return 0;
  server->log().SayFailed(served.error());
  return 1;
}

}  // namespace cairn

#endif  // CAIRN_CMD_SERVE_STOP_RUN_SERVER_H_
