// Statistics of the times at which the deltas of answers arrived. Pure functions; all times are by
// one clock, in milliseconds.

#ifndef CAIRN_LAB_LOAD_LOAD_STATS_H_
#define CAIRN_LAB_LOAD_LOAD_STATS_H_

#include <cstddef>
#include <vector>

namespace cairn {

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

}  // namespace cairn

#endif  // CAIRN_LAB_LOAD_LOAD_STATS_H_
