// cairn-lab: clients that measure a running server, the demo, the simulator of the cache, and the
// maker of synthetic models.

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <exception>
#include <string>
#include <vector>

#include "cmd/flags_page.h"
#include "cmd/version_text.h"
#include "lab/cmd/bench.h"
#include "lab/cmd/bench_load.h"
#include "lab/cmd/demo.h"
#include "lab/cmd/model_graft.h"
#include "lab/cmd/model_make.h"
#include "lab/cmd/model_make_projector.h"
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
  app.set_version_flag("--version", VersionText);
  app.require_subcommand(1);
  app.failure_message([](const CLI::App* failed, const CLI::Error& error) {
    return failed->get_name() + ": " + error.what() + " (see --help)\n";
  });

  DemoOptions demo_options;
  const CLI::App* demo = AddDemo(&app, &demo_options);
  SimCommandOptions sim_options;
  const CLI::App* sim = AddSim(&app, &sim_options);
  BenchOptions bench_options;
  CLI::App* bench = AddBench(&app, &bench_options);
  BenchLoadOptions load_options;
  const CLI::App* load = AddBenchLoad(bench, &load_options);

  CLI::App* model = app.add_subcommand("model", "Make model files");
  model->require_subcommand(1);
  ModelMakeOptions make_options;
  const CLI::App* make = AddModelMake(model, &make_options);
  ModelMakeProjectorOptions projector_options;
  const CLI::App* make_projector = AddModelMakeProjector(model, &projector_options);
  ModelGraftOptions graft_options;
  const CLI::App* graft = AddModelGraft(model, &graft_options);

  // Hidden from the help because its group has no name.
  const CLI::App* flags_page =
      app.add_subcommand("flags-page", "Print docs/lab_flags.md")->group("");

  std::reverse(arguments.begin(), arguments.end());  // the order that CLI11 expects
  try {
    app.parse(arguments);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 1;
  }
  if (demo->parsed()) return RunDemo(demo_options);
  if (sim->parsed()) return RunSim(sim_options);
  if (load->parsed()) return RunBenchLoad(load_options);
  if (make->parsed()) return RunModelMake(make_options);
  if (make_projector->parsed()) return RunModelMakeProjector(projector_options);
  if (graft->parsed()) return RunModelGraft(graft_options);
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
