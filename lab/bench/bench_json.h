// A benchmark's result as a file: everything that was seen, request by request, and what it comes
// to. What is read back is what was seen; the summary is worked out anew. Pure functions.

#ifndef CAIRN_LAB_BENCH_BENCH_JSON_H_
#define CAIRN_LAB_BENCH_BENCH_JSON_H_

#include <string>
#include <string_view>

#include "base/result.h"
#include "lab/bench/bench_result.h"

namespace cairn {

// One object, with a line end.
std::string BenchJson(const BenchResult& result);
// Of such a text; kCorrupt with what is wrong with it.
Result<BenchResult> ReadBenchJson(std::string_view text);

}  // namespace cairn

#endif  // CAIRN_LAB_BENCH_BENCH_JSON_H_
