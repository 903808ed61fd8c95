// cache_bench: what the cache costs.
//
//   build/bench/cache_bench --benchmarks=match,insert,evict,restore,prefill
//
// Its last table, from two cores of an AMD EPYC (Zen 3, 32 MB of last-level cache) with libllama
// 0.7.0, models with one thread. Other programs ran meanwhile (load average 2 to 3; 1 for restore,
// whose lines are of a later run).
//
//   what is measured                   median ms  least ms  note
//   match    all of the prompt is stored    0.192     0.145  100000 shared, 909 checkpoints
//   match    it parts half-way              0.074     0.036  50000 shared, 404 checkpoints
//   match    it parts after the header      0.002     0.002  10000 shared, 0 checkpoints
//   match    none of it is stored           0.000     0.000  0 shared, 0 checkpoints
//   match    front of the only conversation 0.186     0.177  100000 shared, 909 checkpoints
//   insert   with room left                 0.127     0.092  10000 checkpoints, 0 given up
//   evict    value, one goes                0.945     0.796  10000 checkpoints, 200 given up
//   evict    value, 16 go                  12.440    11.481  10000 checkpoints, 192 given up
//   evict    lru, one goes                  1.027     0.805  10000 checkpoints, 200 given up
//   evict    fifo, one goes                 0.841     0.714  10000 checkpoints, 200 given up
//   evict    closest-pair, one goes         1.000     0.871  10000 checkpoints, 200 given up
//   evict    marconi, one goes              0.927     0.821  10000 checkpoints, 200 given up
//   restore  llama, join of 1               7.828     7.303  62.9 MB, 0.58 of memcpy's 14.0 GB/s
//   restore  llama, join of 8               8.262     7.270  62.9 MB, 0.82 of memcpy's 9.3 GB/s
//   restore  qwen35, snapshot               5.809     5.544  51.2 MB, 0.62 of memcpy's 14.2 GB/s
//   restore  qwen35, join of 2              6.814     5.949  59.6 MB, 0.69 of memcpy's 12.8 GB/s
//   prefill  qwen35, placement none       946.029   883.939  3072 tokens
//   prefill  qwen35, auto, 82 stored      919.303   858.380  1.054 of none's speed, by CPU 1.020
//
//   match    is to stay under 1 ms. It costs what the prompt is long: how much of the conversation
//            lies beyond the place where the prompt parts is not felt.
//   insert   takes a step for each node above, 909 here: they learn of the path's new end.
//   evict    looks at every candidate anew for each that goes. Tokens count too, so an insert may
//            take one more or one less than is said.
//   restore  is to reach 0.5 of memcpy for states of 50 MB and more: 0.58 to 0.87 in the two runs
//            seen, with a core to itself (load average 1). A snapshot was 0.39 to 0.41 while a
//            checksum over its bytes was looked at before each use. On a full machine ratios of one
//            case went from 0.27 to 0.53.
//   prefill  is to reach 0.98. With both cores free and two threads it was 1.022, 1.030 and 1.003;
//            where others took a core that the threads wanted, 0.62 to 1.05, which says nothing.

#include <CLI/CLI.hpp>
#include <cstdio>
#include <string>
#include <vector>

#include "benchmark.h"

namespace cairn::bench {
namespace {

struct Options {
  std::vector<std::string> names;
  bool small = false;
  int threads = 1;
};

std::vector<std::string> AllNames() {
  std::vector<std::string> names;
  for (const Benchmark& benchmark : Benchmarks()) names.emplace_back(benchmark.name);
  return names;
}

int Run(const Options& options) {
  BenchSizes sizes = options.small ? SmallSizes() : BenchSizes();
  sizes.threads = options.threads;
  std::printf("%s\n", TableHead().c_str());
  for (const std::string& name : options.names) {
    const auto table = TableOf(name, sizes);
    if (!table) {
      std::fprintf(stderr, "cache_bench: %s\n", table.error().message.c_str());
      return 1;
    }
    std::fputs(table->c_str(), stdout);
    std::fflush(stdout);
  }
  return 0;
}

}  // namespace
}  // namespace cairn::bench

int main(int argc, char** argv) {
  cairn::bench::Options options;
  options.names = cairn::bench::AllNames();
  CLI::App app("Measures what the cache costs");
  app.add_option("--benchmarks", options.names, "Which to run, with commas between them")
      ->delimiter(',')
      ->capture_default_str();
  app.add_flag("--small", options.small, "Sizes that take seconds, with figures that mean nothing");
  app.add_option("--threads", options.threads, "Of the models")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  return cairn::bench::Run(options);
}
