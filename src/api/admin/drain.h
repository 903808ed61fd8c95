// Drain: whether the server takes new requests, and how many it works on.
//
//   Begin() ──> /health is 503 ── the delay ──> new requests get a 503 too; those that run are
//               answered
//   End()   ──> as before
//   Stop()  ──> like Begin(), and for good: the process ends next
//
// The delay is for load balancers: they learn from /health that the server drains, and send nothing
// that it would refuse.
//
// Threads: any.

#ifndef CAIRN_API_ADMIN_DRAIN_H_
#define CAIRN_API_ADMIN_DRAIN_H_

#include <condition_variable>
#include <cstddef>
#include <memory>
#include <mutex>
#include <string>

#include "api/service/chat_service.h"
#include "base/clock.h"

namespace cairn {

// The message of the 503 answers.
inline constexpr const char* kDrainingText =
    "the server is draining: it answers what it has begun and takes no new requests; send them to "
    "another server, or try again later";

class Drain {
 public:
  // Held from a request's beginning until its answer has been sent. The Drain outlives it.
  using Pass = std::shared_ptr<void>;

  // `clock` outlives this object.
  explicit Drain(const Clock* clock) : clock_(clock) {}

  // How long new requests are let in after Begin() or Stop(). REQUIRES: neither was called.
  void SetDelay(double ms);

  // Null while draining, once the delay is over.
  Pass Enter();
  void Begin();
  // Returns false if the process ends already.
  bool End();
  void Stop();

  // Waits until no request is let in any more and none is in progress, for at most `ms_max` or
  // until StopWaiting(). REQUIRES: draining.
  void WaitForRequests(double ms_max);
  void StopWaiting();

  struct State {
    bool draining = false;
    bool stopping = false;
    bool refusing = false;  // draining, and the delay is over
    size_t requests = 0;    // in progress
  };
  State state() const;

 private:
  void Leave();
  // REQUIRES, of all three: mutex_ is held.
  void BeginLocked();
  double DelayLeftMs() const;
  bool IsRefusing() const { return state_.draining && DelayLeftMs() <= 0; }

  const Clock* const clock_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  double delay_ms_ = 0;         // guarded by mutex_
  double refuses_at_ms_ = 0;    // guarded by mutex_; while draining
  State state_;                 // guarded by mutex_; but `refusing`
  bool waits_no_more_ = false;  // guarded by mutex_
};

// GET /cairn/drain: the state, the bytes that a restart would lose now, and the number of objects
// that the remote tier has still to upload. Waits for the context
// thread's next pause between steps if there is no request.
std::string DrainBody(const Drain::State& state, const ChatService& service);

}  // namespace cairn

#endif  // CAIRN_API_ADMIN_DRAIN_H_
