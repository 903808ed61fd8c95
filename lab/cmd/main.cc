// cairn-lab: clients that measure a running server, the demo, the simulator of the cache, and the
// maker of synthetic models.

#include <CLI/CLI.hpp>
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include "cmd/flags_page.h"
#include "lab/cmd/bench.h"
#include "lab/cmd/bench_load.h"
#include "lab/cmd/demo_commands.h"
#include "lab/cmd/sim.h"

namespace cairn {
namespace {

constexpr const char* kFlagsHeading =
    "# Flags of cairn-lab\n\nWritten by the program from its own flags (`cairn-lab flags-page`); "
    "a\n"
    "test holds this page to them. The server's flags are in [flags.md](flags.md).\n";

int Main(std::vector<std::string> arguments) {
  CLI::App app("Cairn's laboratory: benchmarks, the demo, the cache simulator and made models.",
               "cairn-lab");
  SetUpLabApp(&app);

  const DemoCommands demo_commands(&app);
  SimCommandOptions sim_options;
  const CLI::App* sim = AddSim(&app, &sim_options);
  BenchOptions bench_options;
  CLI::App* bench = AddBench(&app, &bench_options);
  BenchLoadOptions load_options;
  const CLI::App* load = AddBenchLoad(bench, &load_options);
  // Hidden from the help because its group has no name.
  const CLI::App* flags_page =
      app.add_subcommand("flags-page", "Print docs/lab_flags.md")->group("");

  if (const auto ended = ParseLabArguments(&app, std::move(arguments))) return *ended;
  if (const auto ended = demo_commands.Run()) return *ended;
  if (sim->parsed()) return RunSim(sim_options);
  if (load->parsed()) return RunBenchLoad(load_options);
  if (bench->parsed()) return RunBench(bench_options);
  if (flags_page->parsed()) {
    std::fputs(FlagsPage(app, kFlagsHeading).c_str(), stdout);
    return 0;
  }
  return 1;
}

}  // namespace
}  // namespace cairn

int main(int argc, char** argv) {
  return cairn::Main(std::vector<std::string>(argv + 1, argv + argc));
}
