// A benchmark's result as text for a terminal. Pure.

#ifndef CAIRN_PLAY_BENCH_TABLE_H_
#define CAIRN_PLAY_BENCH_TABLE_H_

#include <string>

#include "play/bench_result.h"

namespace cairn {

// For each scenario a row a server, and how the others compare with the first. Under 100 columns.
// `colour`: with the escape sequences of a terminal.
std::string FormatBench(const BenchResult& result, bool colour);

}  // namespace cairn

#endif  // CAIRN_PLAY_BENCH_TABLE_H_
