// What the times at which pieces of answers came say. Pure functions; all times by one clock, in
// milliseconds.

#ifndef CAIRN_LAB_LOAD_LOAD_STATS_H_
#define CAIRN_LAB_LOAD_LOAD_STATS_H_

#include <cstddef>
#include <vector>

namespace cairn {

// Half-open: what happens at `end_ms` is outside.
struct TimeWindow {
  double begin_ms = 0;
  double end_ms = 0;

  double length_ms() const { return end_ms - begin_ms; }
};

// One answer as it came.
struct PieceTimes {
  std::vector<double> at_ms;  // of each piece, ascending
  size_t tokens = 0;          // of the whole answer; 0: as many as pieces
  bool ended = false;         // it came to its end; else nobody waited for it
};

// The times between two pieces of one answer of which the later came in the window. Of an answer
// that had not ended, what it kept its reader waiting for when the window closed is a gap too.
std::vector<double> GapsIn(const PieceTimes& answer, const TimeWindow& window);

// From when all answers had begun until the first of them ended; empty (of no length) when there is
// no such time.
TimeWindow TimeOfAll(const std::vector<PieceTimes>& answers);

// Tokens of all answers a second of the window; 0 when it has no length.
double TokensPerSecond(const std::vector<PieceTimes>& answers, const TimeWindow& window);

// Median, 99th percentile and largest.
struct Spread {
  double p50 = 0;
  double p99 = 0;
  double max = 0;
};
Spread SpreadOf(const std::vector<double>& values);  // zeros when there are none

// 0 when `whole` is not positive.
double RatioOf(double part, double whole);

}  // namespace cairn

#endif  // CAIRN_LAB_LOAD_LOAD_STATS_H_
