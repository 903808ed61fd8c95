// `cairn-lab bench --url URL [--url URL]`: plays what clients do against servers that are running,
// ours or others, and prints what each read and how long the client waited.

#ifndef CAIRN_LAB_CMD_BENCH_H_
#define CAIRN_LAB_CMD_BENCH_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace cairn {

struct BenchOptions {
  std::vector<std::string> urls;
  std::vector<std::string> names;                // of the servers, in the same order; may be fewer
  std::vector<std::string> commands;             // how they were started, likewise; for reports
  std::vector<std::string> scenarios = {"all"};  // names, each perhaps several with commas between
  double scale = 1;                              // of all lengths
  uint64_t seed = 1;
  size_t repetitions = 1;
  double pause_ms = 0;                // between requests
  std::vector<std::string> restarts;  // shell commands, one for each server or one for all
  std::string trace_path;
  std::string json_path;  // empty: nowhere
};

// Adds the subcommand `bench` to `app`; parsing fills `options`, which must outlive it.
CLI::App* AddBench(CLI::App* app, BenchOptions* options);

// Plays and prints. Returns the program's exit code: 1 with what went wrong on standard error when
// a server cannot be reached, an option is wrong, or any scenario ended early.
int RunBench(const BenchOptions& options);

}  // namespace cairn

#endif  // CAIRN_LAB_CMD_BENCH_H_
