// `cairn-lab bench report FILE…`: results of earlier benchmarks, brought together into one report.

#ifndef CAIRN_LAB_CMD_BENCH_REPORT_H_
#define CAIRN_LAB_CMD_BENCH_REPORT_H_

#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace cairn {

struct BenchReportOptions {
  std::vector<std::string> paths;  // as `cairn-lab bench --json` wrote them, in the order played
  // Each is left out where it is empty.
  std::string html_path;
  std::string markdown_path;
  std::string svg_folder;  // made when it is not there
  std::string facts_path;  // lines of Markdown on the machine and the commands, for --markdown
};

// Adds the subcommand `report` to `bench`; parsing fills `options`, which must outlive it.
CLI::App* AddBenchReport(CLI::App* bench, BenchReportOptions* options);

// Prints a table for each model and writes what was asked for. Returns the program's exit code: 1
// with what went wrong on standard error.
int RunBenchReport(const BenchReportOptions& options);

}  // namespace cairn

#endif  // CAIRN_LAB_CMD_BENCH_REPORT_H_
