// Plots of a benchmark as SVG pictures of their own: no script, no outside font, readable on light
// and on dark ground; every mark says its figure when pointed at. Pure.

#ifndef CAIRN_LAB_BENCH_BENCH_SVG_H_
#define CAIRN_LAB_BENCH_BENCH_SVG_H_

#include <string>

#include "lab/bench/bench_result.h"

namespace cairn {

// For each scenario and server a bar of the tokens read while the client waited, over the
// lower bound, with a dot for each run. Empty when nothing is known of the lower bound.
std::string ReadPlot(const BenchResult& result);
// For each scenario and server the median time to the first token as a bar, with a dot for each
// request. Empty when nobody answered.
std::string FirstTokenPlot(const BenchResult& result);
// For each scenario, request by request, the time to the first token on the first server over that
// on each other one; a mark at the geometric mean. Empty when there are no pairs.
std::string RatioPlot(const BenchResult& result);

}  // namespace cairn

#endif  // CAIRN_LAB_BENCH_BENCH_SVG_H_
