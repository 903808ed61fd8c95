#include "lab/cmd/bench_load.h"

#include <CLI/CLI.hpp>
#include <cstdio>
#include <utility>

#include "base/clock.h"
#include "lab/bench/bench_report.h"
#include "lab/cmd/bench.h"
#include "lab/cmd/print_error.h"

namespace cairn {
namespace {

// With many connections at once, the kernel may drop a SYN; its retry comes a second later.
constexpr int kConnectMsMax = 30'000;

std::vector<std::string> WorkloadNames() {
  return {LoadWorkloads().begin(), LoadWorkloads().end()};
}

// Prints what went wrong. Returns false if anything did.
bool PrintFaults(const LoadRun& run) {
  if (!run.error.empty()) {
    std::fprintf(stderr, "%s ended early: %s\n", run.workload.c_str(), run.error.c_str());
  }
  for (const auto& [what, count] : run.faults) {
    const auto detail = run.fault_details.find(what);
    std::fprintf(stderr, "%s: %s, %zu times%s%s\n", run.workload.c_str(), what.c_str(), count,
                 detail == run.fault_details.end() ? "" : "; the first: ",
                 detail == run.fault_details.end() ? "" : detail->second.c_str());
  }
  return run.error.empty() && run.faults.empty();
}

void AddLengths(CLI::App* load, LoadOptions* options) {
  load->add_option("--clients", options->clients, "speed: so many at once")
      ->check(CLI::Range(size_t{1}, size_t{1000}))
      ->capture_default_str();
  load->add_option("--crowd-max", options->crowd_max,
                   "crowds: of 1, 4, 8, 16 and 32 at once, those up to this")
      ->check(CLI::Range(size_t{1}, size_t{1000}))
      ->capture_default_str();
  load->add_option("--long-tokens", options->long_tokens, "gaps: tokens of the long prompt")
      ->capture_default_str();
  load->add_option("--answers", options->answers, "gaps: answers that stream meanwhile")
      ->check(CLI::Range(size_t{1}, size_t{1000}))
      ->capture_default_str();
  load->add_option("--answer-tokens", options->answer_tokens_max,
                   "gaps: tokens of each answer at most; with the long prompt they must fit the "
                   "server's context")
      ->capture_default_str();
  load->add_option("--turns", options->turns, "turns: so many")
      ->check(CLI::Range(size_t{2}, size_t{1000}))
      ->capture_default_str();
  load->add_option("--pause-ms", options->pause_ms, "turns: between two")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  load->add_option("--streams", options->streams, "streams: so many clients")
      ->check(CLI::Range(size_t{1}, size_t{10'000}))
      ->capture_default_str();
  load->add_option("--seconds", options->seconds, "streams: begin new ones for so long")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
}

}  // namespace

CLI::App* AddBenchLoad(CLI::App* bench, BenchLoadOptions* options) {
  CLI::App* load = bench->add_subcommand(
      "load", "Many clients at once on a running server: how long each waits, and for what");
  load->add_option("--url", options->load.url,
                   "A server that speaks POST /v1/chat/completions, as http://host:port");
  load->add_option("--name", options->name, "A name for the server");
  load->add_option("--command", options->command, "How the server was started, for reports");
  load->add_option("--pid", options->load.pid,
                   "The server's process on this machine, whose memory is looked at");
  load->add_option("--workload", options->workloads,
                   "What to play, with commas between: " + NamesText(WorkloadNames()))
      ->capture_default_str();
  load->add_option("--scale", options->load.scale,
                   "All lengths times this, but for those with a flag of their own")
      ->check(CLI::Range(0.001, 1000.0))
      ->capture_default_str();
  load->add_option("--seed", options->load.seed, "Of all made-up text and times")
      ->capture_default_str();
  load->add_option("--repeat", options->repetitions, "Play everything so many times")
      ->check(CLI::Range(size_t{1}, size_t{1000}))
      ->capture_default_str();
  load->add_option("--first-repetition", options->first_repetition,
                   "Its texts are those of a repetition further on");
  load->add_option("--json", options->json_path,
                   "Write all measurements to this file, which scripts/report.sh draws pages from");
  load->add_option("--script-out", options->script_path,
                   "Play nothing; write to this file what `cairn serve --script` needs to give the "
                   "answers of 'turns'");
  AddLengths(load, &options->load);
  return load;
}

int RunBenchLoad(const BenchLoadOptions& options) {
  if (!options.script_path.empty()) {
    const Status wrote = WriteText(options.script_path, TurnsScript(options.load));
    return wrote ? 0 : PrintError("bench load", wrote.error().message);
  }
  if (options.load.url.empty()) return PrintError("bench load", "--url is needed: which server?");
  const auto workloads = ChosenNames("workload", WorkloadNames(), options.workloads);
  if (!workloads) return PrintError("bench load", workloads.error().message);
  auto server = DescribeServer(options.load.url, options.name, options.command);
  if (!server) return PrintError("bench load", server.error().message);
  const SteadyClock clock;
  LoadOptions load = options.load;
  load.clock = &clock;
  load.http.connect_timeout_ms = kConnectMsMax;
  load.bytes_per_token = BytesPerToken({load.url}, load.seed);
  BenchResult result{load.scale, load.seed, {std::move(*server)}};
  bool well = true;
  for (size_t i = 0; i < options.repetitions; ++i) {
    load.repetition = options.first_repetition + i;
    for (const std::string& workload : *workloads) {
      LoadRun run = PlayLoad(workload, load);
      well = PrintFaults(run) && well;
      result.servers.front().load_runs.push_back(std::move(run));
      // After every workload, so that an interrupted benchmark keeps its figures.
      if (options.json_path.empty()) continue;
      const Status wrote = WriteText(options.json_path, BenchJson(result));
      if (!wrote) return PrintError("bench load", wrote.error().message);
    }
  }
  std::printf("%s", FormatBench(result).c_str());
  return well ? 0 : 1;
}

}  // namespace cairn
