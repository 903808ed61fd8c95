// StreamPing: keeps an answer in events alive while there is nothing to say, so that neither the
// client nor a proxy on the way takes a long prompt for a dead connection.

#ifndef CAIRN_HTTP_STREAM_PING_H_
#define CAIRN_HTTP_STREAM_PING_H_

#include <string>
#include <string_view>

#include "base/clock.h"

namespace cairn {

// A comment: every reader of events skips it.
inline constexpr std::string_view kPingComment = ": ping\n\n";

// Used by one thread.
class StreamPing {
 public:
  // A ping after every `interval_ms` of silence; 0 or less: none. `clock` outlives it.
  StreamPing(const Clock* clock, double interval_ms)
      : clock_(clock), interval_ms_(interval_ms), sent_ms_(clock->NowMs()) {}

  // To be called with what the stream has to send now, which may be nothing: then it becomes
  // `ping`, if it is time.
  void Fill(std::string_view ping, std::string* chunk);

 private:
  const Clock* const clock_;
  const double interval_ms_;
  double sent_ms_;  // when something was sent last
};

}  // namespace cairn

#endif  // CAIRN_HTTP_STREAM_PING_H_
