// GracefulStop: the end of a server that first answers the requests in progress. A thread of its
// own waits for them, so that the signal thread can take the next signal meanwhile. It is there
// from the start, because a system that is out of memory starts no more threads.
//
//   SIGTERM ──> Begin(): no new requests ──> the last answer has been sent, or the time is over ──┐
//   SIGINT  ──> Now()
//   ────────────────────────────────────────────────────────────────────────────┴─> stop
//
// Threads: any.

#ifndef CAIRN_CMD_SERVE_STOP_GRACEFUL_STOP_H_
#define CAIRN_CMD_SERVE_STOP_GRACEFUL_STOP_H_

#include <functional>
#include <optional>
#include <thread>

#include "api/admin/drain.h"
#include "base/mutex.h"

namespace cairn {

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

}  // namespace cairn

#endif  // CAIRN_CMD_SERVE_STOP_GRACEFUL_STOP_H_
