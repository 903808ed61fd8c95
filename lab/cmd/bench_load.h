// `cairn-lab bench load --url URL`: puts many concurrent clients on a running server and measures
// how long each waits.

#ifndef CAIRN_LAB_CMD_BENCH_LOAD_H_
#define CAIRN_LAB_CMD_BENCH_LOAD_H_

#include <cstddef>
#include <string>
#include <vector>

#include "lab/load/load_workload.h"

namespace CLI {
class App;
}

namespace cairn {

struct BenchLoadOptions {
  LoadOptions load;  // its clock is set by RunBenchLoad
  std::string name;  // of the server; empty: the server's own name
  std::string command;
  std::vector<std::string> workloads = {"all"};  // names, each perhaps a comma-separated list
  size_t first_repetition = 0;
  size_t repetitions = 1;
  std::string json_path;    // empty: no file
  std::string script_path;  // writes the script for `turns` here and plays nothing; empty: plays
};

// Adds the subcommand `load` to `bench`; parsing fills `options`, which must outlive it.
CLI::App* AddBenchLoad(CLI::App* bench, BenchLoadOptions* options);

// Plays and prints. Returns the program's exit code: 1, with the reason on standard error, if the
// server cannot be reached, an option is wrong, a workload ended early, or a request got neither a
// complete answer nor a 503 with Retry-After.
int RunBenchLoad(const BenchLoadOptions& options);

}  // namespace cairn

#endif  // CAIRN_LAB_CMD_BENCH_LOAD_H_
