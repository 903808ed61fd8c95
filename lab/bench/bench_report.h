// A benchmark's result as a short text for a terminal. Pages and plots are drawn by lab/report/.
// Pure.

#ifndef CAIRN_LAB_BENCH_BENCH_REPORT_H_
#define CAIRN_LAB_BENCH_BENCH_REPORT_H_

#include <string>

#include "lab/bench/bench_result.h"

namespace cairn {

// Returns one row per scenario and server, then the figures of each run of a workload under their
// keys in the JSON. Lines are under 100 columns.
std::string FormatBench(const BenchResult& result);

// A benchmark's result as a file: all measurements, request by request. docs/scenarios.md describes
// the format; lab/report/ reads it. Pure.

// Returns one JSON object, with a line end.
std::string BenchJson(const BenchResult& result);

}  // namespace cairn

#endif  // CAIRN_LAB_BENCH_BENCH_REPORT_H_
