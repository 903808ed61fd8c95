// `cairn-lab bench --url URL [--url URL]`: plays client scenarios against running servers, ours or
// others, and prints how many tokens each prefilled and how long the client waited.

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
  std::vector<std::string> commands;             // how they were started, in the same order
  std::vector<std::string> scenarios = {"all"};  // names, each perhaps a comma-separated list
  double scale = 1;                              // factor on all lengths
  uint64_t seed = 1;
  size_t repetitions = 1;
  double pause_ms = 0;                // between requests
  size_t fixed_answer_tokens = 0;     // as in ScenarioParams
  std::vector<std::string> restarts;  // shell commands, one for each server or one for all
  std::string trace_path;
  std::string json_path;  // empty: no file
};

// Adds the subcommand `bench` to `app`; parsing fills `options`, which must outlive it.
CLI::App* AddBench(CLI::App* app, BenchOptions* options);

// Plays and prints. Returns the program's exit code: 1, with the reason on standard error, if a
// server cannot be reached, an option is wrong, or a scenario ended early.
int RunBench(const BenchOptions& options);

}  // namespace cairn

#endif  // CAIRN_LAB_CMD_BENCH_H_
