// Breaker: keeps requests from waiting for a remote store that does not answer. Three failures
// within ten seconds open it; then no call is made for 5 seconds, then one, and after each further
// failure twice as long, up to a minute. A store that is full or refuses writes is still read.
//
// Logs a line when it opens and when the store answers again.
//
// Threads: any.

#ifndef CAIRN_FLEET_REMOTE_TIER_BREAKER_H_
#define CAIRN_FLEET_REMOTE_TIER_BREAKER_H_

#include <cstdint>
#include <deque>
#include <string>

#include "base/clock.h"
#include "base/log.h"
#include "base/mutex.h"
#include "base/result.h"

namespace cairn {

class Breaker {
 public:
  // `what` names the store in the log. `clock` outlives it.
  Breaker(std::string what, const Clock* clock, LogSink log);

  // Whether a call may be made now. While the breaker is open, it lets one through now and then.
  bool Allows();
  // As Allows, for a write.
  bool AllowsWrite();
  // Call after each call that Allows let through. kNotFound and kCorrupt are answers of a store
  // that works; kNoSpace stops writes for a minute.
  void Note(const Status& status);

  bool open() const;
  bool refusing() const;
  // Calls that failed since the start.
  uint64_t failures() const;

 private:
  void NoteFailure(const Error& error) REQUIRES(mutex_);
  void NoteSuccess() REQUIRES(mutex_);

  const std::string what_;
  const Clock* const clock_;
  const LogSink log_;
  mutable Mutex mutex_;
  std::deque<double> failed_ms_ GUARDED_BY(mutex_);  // the last few, oldest first
  double open_until_ms_ GUARDED_BY(mutex_) = 0;
  double open_ms_ GUARDED_BY(mutex_) = 0;  // how long it was opened last; 0: it is closed
  double refused_until_ms_ GUARDED_BY(mutex_) = 0;
  uint64_t failures_ GUARDED_BY(mutex_) = 0;
};

}  // namespace cairn

#endif  // CAIRN_FLEET_REMOTE_TIER_BREAKER_H_
