// `cairn-lab bench load --url URL`: many clients at once on a server that runs, and how long each
// waits. `cairn-lab bench load-report FILE…`: what several such runs saw, on one page.

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

struct BenchLoadReportOptions {
  std::vector<std::string>
      paths;  // as `cairn-lab bench load --json` wrote them, in the order played
  // Each is left out where it is empty.
  std::string markdown_path;
  std::string svg_folder;  // made when it is not there
  std::string facts_path;
};

// Add the subcommands `load` and `load-report` to `bench`; parsing fills `options`, which must
// outlive them.
CLI::App* AddBenchLoad(CLI::App* bench, BenchLoadOptions* options);
CLI::App* AddBenchLoadReport(CLI::App* bench, BenchLoadReportOptions* options);

// Plays and prints. Returns the program's exit code: 1 with what went wrong on standard error when
// the server cannot be reached, an option is wrong, a workload ended early, or a request was not
// answered whole, unless by a 503 with Retry-After.
int RunBenchLoad(const BenchLoadOptions& options);
// Prints the tables and writes what was asked for. 1 with what went wrong on standard error.
int RunBenchLoadReport(const BenchLoadReportOptions& options);

}  // namespace cairn

#endif  // CAIRN_LAB_CMD_BENCH_LOAD_H_
