// GracefulStop: the end of a server that first answers the requests in progress. A thread of its
// own waits for them, so that the signal thread can take the next signal meanwhile.
//
//   SIGTERM ──> Begin(): no new requests ──> the last answer has been sent, or the time is over ──┐
//   SIGINT  ──> Now()
//   ────────────────────────────────────────────────────────────────────────────┴─> stop
//
// Threads: any.

#ifndef CAIRN_CMD_SERVE_STOP_GRACEFUL_STOP_H_
#define CAIRN_CMD_SERVE_STOP_GRACEFUL_STOP_H_

#include <functional>
#include <mutex>
#include <thread>

#include "api/admin/drain.h"

namespace cairn {

class GracefulStop {
 public:
  // `stop` is called at most once, on any thread. `drain` must outlive this object.
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
  Drain* const drain_;
  const std::function<void()> stop_;
  std::mutex mutex_;
  bool stopped_ = false;  // guarded by mutex_
  std::thread thread_;    // guarded by mutex_; waits for the requests
};

}  // namespace cairn

#endif  // CAIRN_CMD_SERVE_STOP_GRACEFUL_STOP_H_
