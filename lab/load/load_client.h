// LoadClient: requests a streamed answer and records the time of each delta and how it ended.

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
  // Called after each delta with the number of deltas; returns false to cancel the request. May be
  // empty.
  std::function<bool(size_t pieces)> goes_on = nullptr;
};

struct LoadReply {
  enum class Kind : uint8_t {
    kWhole,    // complete: text, a finish reason, [DONE], and the requested number of tokens
    kGivenUp,  // the client did not wait for the end
    kBusy,     // 503 with Retry-After
    kBroken,   // an answer began and ended early
    kFailed,   // anything else
  };
  Kind kind = Kind::kFailed;
  std::string fault;         // of kBroken and kFailed: the kind of fault, short and without numbers
  std::string detail;        // of kBroken and kFailed: the server's message
  double retry_after_s = 0;  // of kBusy
  double asked_ms = 0;       // when the request was sent, by the client's clock
  ChatAnswer answer;         // of kWhole and kGivenUp
  PieceTimes pieces;
};

// Returns how long a refused client waits: the larger of Retry-After and twice the last wait, at
// most kBackOffMsMax; `tries` counts refusals from 1. Pure.
inline constexpr double kBackOffMsMax = 8000;
double BackOffMs(double retry_after_s, size_t tries);

// Thread-safe when the clock is.
class LoadClient {
 public:
  LoadClient(const std::string& url, const Clock* clock, HttpClientOptions options)
      : chat_(url, clock, std::move(options)), clock_(clock) {}

  LoadReply Ask(const LoadAsk& ask) const;

  // Repeats the request until the server accepts it, and counts refusals in `busy`. A client that
  // is refused after `until_ms` stops; the reply is then kBusy.
  LoadReply AskPatiently(const LoadAsk& ask, double until_ms, std::atomic<size_t>* busy) const;

  const Clock& clock() const { return *clock_; }

 private:
  const ChatClient chat_;
  const Clock* const clock_;
};

}  // namespace cairn

#endif  // CAIRN_LAB_LOAD_LOAD_CLIENT_H_
