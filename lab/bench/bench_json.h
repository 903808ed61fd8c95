// A benchmark's result as a file: all measurements, request by request. docs/scenarios.md describes
// the format; lab/report/ reads it. Pure.

#ifndef CAIRN_LAB_BENCH_BENCH_JSON_H_
#define CAIRN_LAB_BENCH_BENCH_JSON_H_

#include <string>

#include "lab/bench/bench_result.h"

namespace cairn {

// Returns one JSON object, with a line end.
std::string BenchJson(const BenchResult& result);

}  // namespace cairn

#endif  // CAIRN_LAB_BENCH_BENCH_JSON_H_
