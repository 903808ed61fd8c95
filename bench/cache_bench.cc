// cache_bench: measures the costs of the cache.
//
//   build/bench/cache_bench --benchmarks=match,insert,evict,events,restore,prefill
//
// The table of the last run, on two cores of an AMD EPYC (Zen 3, 32 MB of last-level cache) with
// libllama 0.7.0, models with one thread, on a machine without other work (load average 1).
//
//   what is measured                   median ms  least ms  note
//   match    all of the prompt is stored     0.255     0.226  100000 shared, 909 checkpoints
//   match    diverges half-way               0.053     0.046  50000 shared, 404 checkpoints
//   match    diverges after the header       0.003     0.003  10000 shared, 0 checkpoints
//   match    none of it is stored            0.000     0.000  0 shared, 0 checkpoints
//   match    front of the only conversation 0.088     0.076  100000 shared, 909 checkpoints
//   insert   with room left                  0.265     0.222  10000 checkpoints, 0 evicted
//   evict    value, one                      3.228     2.247  10000 checkpoints, 200 evicted
//   evict    value, 16 at once               4.598     3.995  10000 checkpoints, 184 evicted
//   evict    value, 2000 at once            16.627    15.608  14000 checkpoints, 3814 evicted
//   evict    lru, one                        1.099     0.715  10000 checkpoints, 200 evicted
//   evict    fifo, one                       1.280     1.077  10000 checkpoints, 200 evicted
//   evict    closest-pair, one               1.122     0.677  10000 checkpoints, 200 evicted
//   evict    marconi, one                    1.162     0.268  10000 checkpoints, 197 evicted
//   events   full, the whole set           123.310   123.310  15626 blocks, 4265081 bytes
//   events   full, report                    0.001     0.000  1000 new tokens
//   events   full, publish                   0.027     0.023  4209 bytes
//   events   tenth, report                   0.001     0.000  1000 new tokens
//   events   tenth, publish                  0.024     0.020  4219 bytes
//   events   full, secret, publish           0.073     0.065  5062 bytes
//   restore  llama, assemble 1               8.128     7.657  62.9 MB, 0.62 of memcpy's 12.6 GB/s
//   restore  llama, assemble 8               8.790     7.946  62.9 MB, 0.88 of memcpy's 8.2 GB/s
//   restore  qwen35, snapshot                6.088     5.729  51.2 MB, 0.70 of memcpy's 12.0 GB/s
//   restore  qwen35, assemble 2              6.894     6.530  59.6 MB, 0.79 of memcpy's 10.9 GB/s
//   prefill  qwen35, placement none        1041.741   966.674  3072 tokens
//   prefill  qwen35, auto, 82 stored       1240.053   973.408  0.993 of none's speed by the least
//
//   match    should stay under 1 ms. Its time is linear in the prompt's length; the rest of the
//            conversation after the divergence has no effect.
//   insert   takes a step for each node above, 909 here: each records the path's new end.
//   evict    ranks all candidates once for an eighth of them; closest-pair and marconi compare
//            them with each other, once for each eviction. Tokens count too, so an insert may
//            evict one more or one less than its row says.
//   events   should not depend on what the cache holds. These rows are of a machine with other work
//            (load average 5); "report" is on the thread that computes.
//   restore  should reach 0.5 of memcpy for states of 50 MB and more: 0.58 to 0.87 in the two runs
//            seen, with a core to itself (load average 1). A snapshot was 0.39 to 0.41 while a
//            checksum over its bytes was verified before each use. On a full machine ratios of one
//            case went from 0.27 to 0.53.
//   prefill  should reach 0.98. The machine's speed changes by a tenth from second to second, so
//            the least times are compared. By medians of pairs nine runs gave 0.842, 0.912, 0.959,
//            0.980, 0.982, 0.989, 1.025, 1.035 and 1.090.

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
