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

#include <cstddef>
#include <memory>
#include <string>

#include "api/service/chat_service.h"
#include "base/clock.h"
#include "base/mutex.h"

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
  void BeginLocked() REQUIRES(mutex_);
  double DelayLeftMs() const REQUIRES(mutex_);
  bool IsRefusing() const REQUIRES(mutex_) { return state_.draining && DelayLeftMs() <= 0; }

  const Clock* const clock_;
  mutable Mutex mutex_;
  CondVar changed_;
  double delay_ms_ GUARDED_BY(mutex_) = 0;
  double refuses_at_ms_ GUARDED_BY(mutex_) = 0;  // while draining
  State state_ GUARDED_BY(mutex_);               // without `refusing`
  bool waits_no_more_ GUARDED_BY(mutex_) = false;
};

// GET /cairn/drain: the state, the bytes that a restart would lose now, and the number of objects
// that the remote tier has still to upload. Waits for the context
// thread's next pause between steps if there is no request.
std::string DrainBody(const Drain::State& state, const ChatService& service);

}  // namespace cairn

#endif  // CAIRN_API_ADMIN_DRAIN_H_
