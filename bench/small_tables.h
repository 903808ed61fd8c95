// For tests: the tables of benchmarks at sizes that take almost no time.

#ifndef CAIRN_BENCH_SMALL_TABLES_H_
#define CAIRN_BENCH_SMALL_TABLES_H_

#include <string>
#include <string_view>

#include "benchmark.h"

namespace cairn::bench {

// Returns a benchmark's table, or the error's message.
inline std::string Table(std::string_view name) {
  const auto table = TableOf(name, SmallSizes());
  return table ? *table : table.error().message;
}

inline bool Has(const std::string& table, const std::string& text) {
  return table.find(text) != std::string::npos;
}

}  // namespace cairn::bench

#endif  // CAIRN_BENCH_SMALL_TABLES_H_
