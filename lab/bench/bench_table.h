// A benchmark's result as text for a terminal. Pure.

#ifndef CAIRN_LAB_BENCH_BENCH_TABLE_H_
#define CAIRN_LAB_BENCH_BENCH_TABLE_H_

#include <string>

#include "lab/bench/bench_result.h"

namespace cairn {

// For each scenario a row a server, and how the others compare with the first. Under 100 columns.
// `colour`: with the escape sequences of a terminal.
std::string FormatBench(const BenchResult& result, bool colour);

}  // namespace cairn

#endif  // CAIRN_LAB_BENCH_BENCH_TABLE_H_
