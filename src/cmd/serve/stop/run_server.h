// RunServer: runs a server of `cairn serve` until it ends, with its signals on a thread of their
// own, and sees to it that it ends in time.

#ifndef CAIRN_CMD_SERVE_STOP_RUN_SERVER_H_
#define CAIRN_CMD_SERVE_STOP_RUN_SERVER_H_

#include <csignal>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <thread>

#include "api/admin/drain.h"
#include "base/mutex.h"
#include "base/result.h"
#include "cmd/serve/base/server_log.h"

namespace cairn {

// GracefulStop: the end of a server that first answers the requests in progress. A thread of its
// own waits for them, so that the signal thread can take the next signal meanwhile. It is there
// from the start, because a system that is out of memory starts no more threads.
//
//   SIGTERM ──> Begin(): no new requests ──> the last answer has been sent, or the time is over ──┐
//   SIGINT  ──> Now()
//   ────────────────────────────────────────────────────────────────────────────┴─> stop
//
// Threads: any.
class GracefulStop {
 public:
  // Starts the thread, so the signals that SignalThread takes must be blocked. `stop` is called at
  // most once, on any thread. `drain` must outlive this object.
  GracefulStop(Drain* drain, std::function<void()> stop);
  // Waits until `stop` has returned, if it was called; does not call it.
  ~GracefulStop();
  GracefulStop(const GracefulStop&) = delete;
  GracefulStop& operator=(const GracefulStop&) = delete;

  // Stops when no request is in progress, or after `ms_max`. Only the first call does something.
  void Begin(double ms_max);
  // Stops at once. Returns false if that has happened before.
  bool Now();

 private:
  void Run();

  Drain* const drain_;
  const std::function<void()> stop_;
  Mutex mutex_;
  CondVar changed_;
  bool stopped_ GUARDED_BY(mutex_) = false;
  std::optional<double> ms_max_ GUARDED_BY(mutex_);  // of Begin()
  std::thread thread_;                               // the last member: it uses the others
};

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

// SignalThread: a thread that waits for SIGINT, SIGTERM and SIGHUP, so that no handler interrupts
// other code. Its constructor blocks them in the calling thread and in all that this one starts.
class SignalThread {
 public:
  // `on_signal` is called with each signal's number, on the thread of this object. REQUIRES: no
  // other thread has been started.
  explicit SignalThread(std::function<void(int signal)> on_signal);
  ~SignalThread();
  SignalThread(const SignalThread&) = delete;
  SignalThread& operator=(const SignalThread&) = delete;

 private:
  sigset_t signals_{};
  std::thread thread_;
};

// How long the end of a server may take. After it the process exits, whatever still runs.
struct EndLimits {
  double stop_ms;         // from the first SIGTERM or SIGINT on
  double end_ms = 5'000;  // from the end of Run() on, when all is saved
};
// The time that a stop may take beyond --shutdown-timeout: a step of the scheduler, and the last
// writes.
inline constexpr double kStopGraceMs = 5'000;

// Returns the exit code. A system that starts no more threads is an error of the start. `Server`
// has Run(), end_limits(), and for the thread of the signals Reload() and StopOnSignal(signal);
// log() is its ServerLog. Its destructor may hang: then the process exits with that code all the
// same. REQUIRES: no other thread has been started.
template <typename Server>
int RunServer(Server* server) {
  Status served;
  try {
    ExitLimit limit(server->log());
    const SignalThread signals([server, &limit](int signal) {
      if (signal == SIGHUP) return server->Reload();
      limit.Arm(server->end_limits().stop_ms);
      server->StopOnSignal(signal);
    });
    served = server->Run();
    limit.SetCode(served ? 0 : 1);
    limit.Arm(server->end_limits().end_ms);
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
