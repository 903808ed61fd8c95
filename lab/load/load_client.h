// LoadClient: a streamed answer with the time of each of its pieces, and whether it came whole.

#ifndef CAIRN_LAB_LOAD_LOAD_CLIENT_H_
#define CAIRN_LAB_LOAD_LOAD_CLIENT_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "lab/client/chat_client.h"
#include "lab/load/load_stats.h"

namespace cairn {

struct LoadAsk {
  std::vector<ChatMessage> messages;
  ChatParams params;
  // Asked whenever a piece has come, with the number of pieces: false gives the answer up. May be
  // empty.
  std::function<bool(size_t pieces)> goes_on = nullptr;
};

struct LoadReply {
  enum class Kind : uint8_t {
    kWhole,    // to its end: text, a finish reason, [DONE], as many tokens as were asked for
    kGivenUp,  // the client did not wait for the end
    kBusy,     // 503 with Retry-After
    kBroken,   // an answer began and did not come whole
    kFailed,   // anything else
  };
  Kind kind = Kind::kFailed;
  std::string fault;         // of kBroken and kFailed: what happened, short and without numbers
  std::string detail;        // likewise, in the server's words
  double retry_after_s = 0;  // of kBusy
  double asked_ms = 0;       // by the clock: when it was sent
  ChatAnswer answer;         // of kWhole and kGivenUp
  PieceTimes pieces;
};

// How long a client waits that was refused: what the server asked for or twice as long as the time
// before, whichever is more, but at most kBackOffMsMax; `tries` counts refusals from 1. Pure.
inline constexpr double kBackOffMsMax = 8000;
double BackOffMs(double retry_after_s, size_t tries);

// Thread-safe when the clock is.
class LoadClient {
 public:
  LoadClient(const std::string& url, const Clock* clock, HttpClientOptions options)
      : chat_(url, clock, std::move(options)), clock_(clock) {}

  LoadReply Ask(const LoadAsk& ask) const;

  // Asks until the server no longer refuses, and counts refusals in `busy`. Once the clock passes
  // `until_ms` a refused client gives up: the last reply is then kBusy.
  LoadReply AskPatiently(const LoadAsk& ask, double until_ms, std::atomic<size_t>* busy) const;

  const Clock& clock() const { return *clock_; }

 private:
  const ChatClient chat_;
  const Clock* const clock_;
};

}  // namespace cairn

#endif  // CAIRN_LAB_LOAD_LOAD_CLIENT_H_
