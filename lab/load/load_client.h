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

namespace cairn {

// Statistics of the times at which the deltas of answers arrived. Pure functions; all times are by
// one clock, in milliseconds.

// A half-open interval: `end_ms` is outside.
struct TimeWindow {
  double begin_ms = 0;
  double end_ms = 0;

  double length_ms() const { return end_ms - begin_ms; }
};

// The deltas of one answer.
struct PieceTimes {
  std::vector<double> at_ms;  // of each delta, ascending
  size_t tokens = 0;          // of the whole answer; 0: one per delta
  bool ended = false;         // the answer is complete; otherwise the client cancelled it
};

// Returns the inter-token latencies of one answer, for deltas that arrived in the window. The time
// from the last delta to the window's end counts too, unless the answer had ended.
std::vector<double> GapsIn(const PieceTimes& answer, const TimeWindow& window);

// Returns the time from when all answers had begun until the first of them ended; a window of no
// length if there is no such time.
TimeWindow TimeOfAll(const std::vector<PieceTimes>& answers);

// Returns the tokens per second of all answers within the window; 0 if it has no length.
double TokensPerSecond(const std::vector<PieceTimes>& answers, const TimeWindow& window);

// Median, 99th percentile and maximum.
struct Spread {
  double p50 = 0;
  double p99 = 0;
  double max = 0;
};
Spread SpreadOf(const std::vector<double>& values);  // zeros if there are no values

// Returns part / whole, or 0 if `whole` is not positive.
double RatioOf(double part, double whole);

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
