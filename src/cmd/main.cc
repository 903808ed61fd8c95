// cairn: one program with subcommands. From here the way to the heart is
//   cmd/serve.cc -> api/chat_service.h -> sched/scheduler.h -> cache/checkpoint_cache.h

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <exception>

#include "cmd/bench.h"
#include "cmd/bench_load.h"
#include "cmd/bench_report.h"
#include "cmd/cache.h"
#include "cmd/demo.h"
#include "cmd/environment_flags.h"
#include "cmd/key_flags.h"
#include "cmd/manual.h"
#include "cmd/model_check.h"
#include "cmd/model_make.h"
#include "cmd/serve.h"
#include "cmd/short_flags.h"
#include "cmd/sim.h"
#include "cmd/top.h"
#include "cmd/version_text.h"

namespace cairn {
namespace {

int Main(std::vector<std::string> arguments) {
  CLI::App app("Cairn: an LLM server that never reads twice what it has read once.", "cairn");
  app.set_version_flag("--version", VersionText);
  app.require_subcommand(1);
  const std::vector<std::string> shown = arguments;
  app.failure_message([&shown](const CLI::App* failed, const CLI::Error& error) {
    return failed->get_name() + ": " + HideKeys(error.what(), shown) + " (see --help)\n";
  });

  ServeOptions serve_options;
  const CLI::App* serve = AddServe(&app, &serve_options);
  TopOptions top_options;
  const CLI::App* top = AddTop(&app, &top_options);
  DemoOptions demo_options;
  const CLI::App* demo = AddDemo(&app, &demo_options);
  SimCommandOptions sim_options;
  const CLI::App* sim = AddSim(&app, &sim_options);
  BenchOptions bench_options;
  CLI::App* bench = AddBench(&app, &bench_options);
  BenchReportOptions report_options;
  const CLI::App* report = AddBenchReport(bench, &report_options);
  BenchLoadOptions load_options;
  const CLI::App* load = AddBenchLoad(bench, &load_options);
  BenchLoadReportOptions load_report_options;
  const CLI::App* load_report = AddBenchLoadReport(bench, &load_report_options);
  CacheCommandOptions cache_options;
  const CLI::App* cache = AddCache(&app, &cache_options);
  CLI::App* model = app.add_subcommand("model", "Make and look at model files");
  model->require_subcommand(1);
  ModelMakeOptions make_options;
  const CLI::App* make = AddModelMake(model, &make_options);
  ModelCheckOptions check_options;
  const CLI::App* check = AddModelCheck(model, &check_options);

  ManualOptions manual_options;
  const CLI::App* manual = AddManual(&app, &manual_options);

  arguments = SpellOutShortFlags(std::move(arguments));
  const auto environment = ReadEnvironmentFlags(ProcessEnvironment(), arguments);
  if (!environment) {
    std::fprintf(stderr, "serve: %s (see --help)\n", environment.error().message.c_str());
    return 1;
  }
  arguments.insert(arguments.end(), environment->arguments.begin(), environment->arguments.end());
  serve_options.unknown_variables = environment->unknown;
  std::reverse(arguments.begin(), arguments.end());  // as CLI11 wants them
  try {
    app.parse(arguments);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 1;
  }
  if (serve->parsed()) return RunServe(serve_options);
  if (top->parsed()) return RunTop(top_options);
  if (demo->parsed()) return RunDemo(demo_options);
  if (sim->parsed()) return RunSim(sim_options);
  if (report->parsed()) return RunBenchReport(report_options);
  if (load->parsed()) return RunBenchLoad(load_options);
  if (load_report->parsed()) return RunBenchLoadReport(load_report_options);
  if (bench->parsed()) return RunBench(bench_options);
  if (cache->parsed()) return RunCache(cache_options);
  if (make->parsed()) return RunModelMake(make_options);
  if (check->parsed()) return RunModelCheck(check_options);
  if (manual->parsed()) return RunManual(app, manual_options);
  return 1;
}

}  // namespace
}  // namespace cairn

int main(int argc, char** argv) {
  return cairn::Main(std::vector<std::string>(argv + 1, argv + argc));
}
