// `cairn-lab bench load --url URL`: many clients at once on a server that runs, and how long each
// waits.

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
  std::string name;  // of the server; empty: as it calls itself
  std::string command;
  std::vector<std::string> workloads = {"all"};  // names, each perhaps several with commas between
  size_t first_repetition = 0;
  size_t repetitions = 1;
  std::string json_path;    // empty: nowhere
  std::string script_path;  // write the script for `turns` here, and play nothing; empty: play
};

// Adds the subcommand `load` to `bench`; parsing fills `options`, which must outlive it.
CLI::App* AddBenchLoad(CLI::App* bench, BenchLoadOptions* options);

// Plays and prints. Returns the program's exit code: 1 with what went wrong on standard error when
// the server cannot be reached, an option is wrong, a workload ended early, or a request was not
// answered whole, unless by a 503 with Retry-After.
int RunBenchLoad(const BenchLoadOptions& options);

}  // namespace cairn

#endif  // CAIRN_LAB_CMD_BENCH_LOAD_H_
