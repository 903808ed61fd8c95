// Benchmark: a function that measures and returns rows for the table that cache_bench prints. Each
// benchmark is in a file of its own, x_bench.cc, behind this header.

#ifndef CAIRN_BENCH_BENCHMARK_H_
#define CAIRN_BENCH_BENCHMARK_H_

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace cairn::bench {

// The sizes of a run. The defaults are those of the figures in docs.
struct BenchSizes {
  // Stored state for match, insert and evict: a system prefix that all conversations share, and the
  // tokens and checkpoints of each conversation; a million and ten thousand in total.
  size_t header_tokens = 10'000;
  size_t conversations = 10;
  size_t conversation_tokens = 99'000;
  size_t conversation_checkpoints = 1'000;
  size_t prompt_tokens = 100'000;
  size_t runs = 200;

  // For restore. Large models have states of more than 50 MB.
  bool large_models = true;
  size_t restore_runs = 31;

  // For prefill.
  size_t prefill_tokens = 3'072;
  size_t prefill_runs = 11;

  // For models. One, because threads that wait for each other take many times as long on a machine
  // with other load.
  int threads = 1;
};

// Sizes with which all benchmarks together take a second or two. Their figures mean nothing.
BenchSizes SmallSizes();

struct Row {
  std::string what;
  std::vector<double> ms;  // of each run
  std::string note;        // a remark on the figure, such as a ratio
};

struct Benchmark {
  std::string_view name;
  Result<std::vector<Row>> (*run)(const BenchSizes& sizes);
};

// The benchmarks, each in its file.
Result<std::vector<Row>> BenchMatch(const BenchSizes& sizes);
Result<std::vector<Row>> BenchInsert(const BenchSizes& sizes);
Result<std::vector<Row>> BenchEvict(const BenchSizes& sizes);
Result<std::vector<Row>> BenchEvents(const BenchSizes& sizes);
Result<std::vector<Row>> BenchRestore(const BenchSizes& sizes);
Result<std::vector<Row>> BenchPrefill(const BenchSizes& sizes);

// Returns all benchmarks, in the order of the table.
const std::vector<Benchmark>& Benchmarks();

// Returns the duration of `work` in milliseconds.
double TimeMs(const std::function<void()>& work);
// Returns the middle value, or the mean of the two in the middle. REQUIRES: a value.
double Median(std::vector<double> values);
double Least(const std::vector<double>& values);

// Formats the table's head, and the rows of a benchmark that has run.
std::string TableHead();
Result<std::string> TableOf(std::string_view name, const BenchSizes& sizes);

}  // namespace cairn::bench

#endif  // CAIRN_BENCH_BENCHMARK_H_
