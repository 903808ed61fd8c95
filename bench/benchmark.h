// What a benchmark is: a function that measures and returns rows for the table that cache_bench
// prints. Each benchmark is a file of its own, x_bench.cc, behind this header.

#ifndef CAIRN_BENCH_BENCHMARK_H_
#define CAIRN_BENCH_BENCHMARK_H_

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace cairn::bench {

// How large a run is. The defaults are the sizes that docs speak of.
struct BenchSizes {
  // Of what is stored, for match, insert and evict: a header that all conversations share, and so
  // many tokens and checkpoints of each; a million and ten thousand altogether.
  size_t header_tokens = 10'000;
  size_t conversations = 10;
  size_t conversation_tokens = 99'000;
  size_t conversation_checkpoints = 1'000;
  size_t prompt_tokens = 100'000;
  size_t runs = 200;

  // Of restore. Large: states weigh more than 50 MB.
  bool large_models = true;
  size_t restore_runs = 31;

  // Of prefill.
  size_t prefill_tokens = 3'072;
  size_t prefill_runs = 11;

  // Of models. One: on a machine that does other things too, threads that wait for each other take
  // many times as long.
  int threads = 1;
};

// Sizes with which all benchmarks together take a second or two. Their figures mean nothing.
BenchSizes SmallSizes();

struct Row {
  std::string what;
  std::vector<double> ms;  // of each run
  std::string note;        // what is to be known of the figure, a ratio for example
};

struct Benchmark {
  std::string_view name;
  Result<std::vector<Row>> (*run)(const BenchSizes& sizes);
};

// Each with its file.
Result<std::vector<Row>> BenchMatch(const BenchSizes& sizes);
Result<std::vector<Row>> BenchInsert(const BenchSizes& sizes);
Result<std::vector<Row>> BenchEvict(const BenchSizes& sizes);
Result<std::vector<Row>> BenchRestore(const BenchSizes& sizes);
Result<std::vector<Row>> BenchPrefill(const BenchSizes& sizes);

// All of them, in the order of the table.
const std::vector<Benchmark>& Benchmarks();

// Milliseconds that `work` takes.
double TimeMs(const std::function<void()>& work);
// The middle of an odd number of values, else the mean of the two in the middle. REQUIRES: a value.
double Median(std::vector<double> values);
double Least(const std::vector<double>& values);

// The table's first line, and a benchmark's lines, once it is run.
std::string TableHead();
Result<std::string> TableOf(std::string_view name, const BenchSizes& sizes);

}  // namespace cairn::bench

#endif  // CAIRN_BENCH_BENCHMARK_H_
