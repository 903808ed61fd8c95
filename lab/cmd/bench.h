// `cairn-lab bench --url URL [--url URL]`: plays client scenarios against running servers, ours or
// others, and prints how many tokens each prefilled and how long the client waited.

#ifndef CAIRN_LAB_CMD_BENCH_H_
#define CAIRN_LAB_CMD_BENCH_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "lab/bench/bench_result.h"

namespace CLI {
class App;
}

namespace cairn {

// Shared by `cairn-lab bench` and `cairn-lab bench load`: the names to play, the servers, and the
// output file.

// Returns those of `known` that `lists` name, in the order of `known`. Each list may hold several
// names with commas between; "all" stands for every name. kInvalidArgument: an unknown name. `kind`
// says what a name denotes, for the message: "scenario".
Result<std::vector<std::string>> ChosenNames(const std::string& kind,
                                             const std::vector<std::string>& known,
                                             const std::vector<std::string>& lists);

// Returns "all, a, b" for a and b, for the help text.
std::string NamesText(const std::vector<std::string>& known);

// Returns the server's description of itself, under `name`, or its program's name if that is empty.
// kUnavailable: no server listens.
Result<ServerFigures> DescribeServer(const std::string& url, const std::string& name,
                                     const std::string& command_line);

// Returns the bytes of made-up text per token, by the first server that has a tokenizer.
double BytesPerToken(const std::vector<std::string>& urls, uint64_t seed);

Status WriteText(const std::string& path, const std::string& text);

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
