// StreamPing: sends pings on an idle event stream, so that neither the client nor a proxy takes a
// long prefill for a dead connection.

#ifndef CAIRN_ROUTES_STREAM_PING_H_
#define CAIRN_ROUTES_STREAM_PING_H_

#include <string>
#include <string_view>

#include "base/clock.h"

namespace cairn {

// An SSE comment, which every client skips.
inline constexpr std::string_view kPingComment = ": ping\n\n";

// Used by one thread.
class StreamPing {
 public:
  // Pings after every `interval_ms` of silence; 0 or less: never. `clock` outlives it.
  StreamPing(const Clock* clock, double interval_ms)
      : clock_(clock), interval_ms_(interval_ms), sent_ms_(clock->NowMs()) {}

  // To be called with the data that the stream is about to send. If that is empty and a ping is
  // due, sets it to `ping`.
  void Fill(std::string_view ping, std::string* chunk);

 private:
  const Clock* const clock_;
  const double interval_ms_;
  double sent_ms_;  // time of the last data
};

}  // namespace cairn

#endif  // CAIRN_ROUTES_STREAM_PING_H_
