// A benchmark's result as one HTML page that needs nothing else: plots, tables, how it was made.
// Pure.

#ifndef CAIRN_LAB_BENCH_BENCH_HTML_H_
#define CAIRN_LAB_BENCH_BENCH_HTML_H_

#include <string>
#include <vector>

#include "lab/bench/bench_result.h"

namespace cairn {

std::string BenchHtml(const BenchResult& result);
// Of several models, each with a part of its own.
std::string BenchHtml(const std::vector<BenchResult>& results);

}  // namespace cairn

#endif  // CAIRN_LAB_BENCH_BENCH_HTML_H_
