#include "lab/cmd/bench_load.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>
#include <utility>

#include "base/clock.h"
#include "base/read_file.h"
#include "lab/bench/bench_server.h"
#include "lab/client/seeded_text.h"
#include "lab/load/load_figures.h"
#include "lab/load/load_json.h"
#include "lab/load/load_report.h"

namespace cairn {
namespace {

namespace fs = std::filesystem;

constexpr size_t kSampleBytes = 8192;
constexpr double kBytesPerTokenUnknown = 4;
// Where many connect at once, the kernel may drop one that then comes again after a second.
constexpr int kConnectMsMax = 30'000;

int Complain(const char* command, const std::string& what) {
  std::fprintf(stderr, "cairn-lab bench %s: %s\n", command, what.c_str());
  return 1;
}

Status WriteText(const fs::path& path, const std::string& text) {
  std::error_code error;
  if (path.has_parent_path()) fs::create_directories(path.parent_path(), error);
  std::ofstream file(path, std::ios::binary);
  file << text;
  if (file.flush()) return {};
  return Fail(ErrorCode::kInvalidArgument, "'" + path.string() + "' cannot be written");
}

// In the order of the list of workloads, each once. kInvalidArgument: an unknown name.
Result<std::vector<std::string>> ChosenWorkloads(const std::vector<std::string>& lists) {
  std::vector<std::string> wanted;
  for (const std::string& list : lists) {
    std::istringstream names(list);
    for (std::string name; std::getline(names, name, ',');) wanted.push_back(name);
  }
  std::vector<std::string> chosen;
  std::string known = "all";
  for (const LoadWorkloadInfo& info : LoadWorkloads()) {
    known.append(", ").append(info.name);
    const auto is_this = [&](const std::string& name) {
      return name == info.name || name == "all";
    };
    if (std::any_of(wanted.begin(), wanted.end(), is_this)) chosen.emplace_back(info.name);
    std::erase(wanted, info.name);
  }
  std::erase(wanted, "all");
  if (wanted.empty()) return chosen;
  return Fail(ErrorCode::kInvalidArgument,
              "there is no workload '" + wanted.front() + "'; there are " + known);
}

double BytesPerToken(const LoadOptions& options) {
  SeededText text(options.seed, "sample");
  const auto tokens =
      BenchServer(options.url).Tokenize(text.Prose(kSampleBytes), /*add_special=*/false);
  if (!tokens || tokens->empty()) return kBytesPerTokenUnknown;
  return static_cast<double>(kSampleBytes) / static_cast<double>(tokens->size());
}

Result<LoadServer> DescribeServer(const BenchLoadOptions& options) {
  const auto figures = BenchServer(options.load.url).Describe();
  if (!figures) {
    return Fail(figures.error().code,
                "no server at " + options.load.url + ": " + figures.error().message);
  }
  LoadServer server;
  server.program = figures->program;
  server.model = figures->model;
  server.command_line = options.command;
  server.name =
      options.name.empty() ? server.program.substr(0, server.program.find(' ')) : options.name;
  if (server.name.empty()) server.name = options.load.url;
  return server;
}

// Says what went wrong; false when anything did.
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

Result<LoadResult> ReadResults(const std::vector<std::string>& paths) {
  std::vector<LoadResult> results;
  for (const std::string& path : paths) {
    const Result<std::string> text = ReadFile(path);
    if (!text) return tl::unexpected<Error>(text.error());
    auto result = ReadLoadJson(*text);
    if (!result) {
      return Fail(result.error().code, "'" + path + "' cannot be used: " + result.error().message);
    }
    results.push_back(std::move(*result));
  }
  return MergeLoadResults(results);
}

Status WriteMarkdown(const BenchLoadReportOptions& options, const LoadResult& result) {
  std::string facts;
  if (!options.facts_path.empty()) {
    Result<std::string> text = ReadFile(options.facts_path);
    if (!text) return tl::unexpected<Error>(text.error());
    facts = std::move(*text);
  }
  std::string plots;
  if (!options.svg_folder.empty()) {
    const fs::path page = fs::absolute(options.markdown_path).parent_path();
    plots = fs::absolute(options.svg_folder).lexically_relative(page).generic_string() + "/";
  }
  return WriteText(options.markdown_path, LoadMarkdown(result, plots, facts));
}

void AddLengths(CLI::App* load, LoadOptions* options) {
  load->add_option("--clients", options->clients, "speed: so many at once")
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
  std::string names = "all";
  for (const LoadWorkloadInfo& info : LoadWorkloads()) names.append(", ").append(info.name);
  load->add_option("--workload", options->workloads, "What to play, with commas between: " + names)
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
  load->add_option("--json", options->json_path, "Write the figures to this file too");
  load->add_option("--script-out", options->script_path,
                   "Play nothing; write to this file what `cairn serve --script` needs to give the "
                   "answers of 'turns'");
  AddLengths(load, &options->load);
  return load;
}

CLI::App* AddBenchLoadReport(CLI::App* bench, BenchLoadReportOptions* options) {
  CLI::App* report = bench->add_subcommand(
      "load-report", "Bring the results of several runs of 'load' together, beside each other");
  report->add_option("files", options->paths, "Results, as --json wrote them, in the order played")
      ->required();
  report->add_option("--markdown", options->markdown_path, "Write a page of Markdown to this file");
  report->add_option("--svg-dir", options->svg_folder, "Write the plots into this folder");
  report->add_option("--facts", options->facts_path,
                     "Markdown on the machine and the commands, for the end of --markdown's page");
  return report;
}

int RunBenchLoad(const BenchLoadOptions& options) {
  if (!options.script_path.empty()) {
    const Status wrote = WriteText(options.script_path, TurnsScript(options.load));
    return wrote ? 0 : Complain("load", wrote.error().message);
  }
  if (options.load.url.empty()) return Complain("load", "--url is needed: which server?");
  const auto workloads = ChosenWorkloads(options.workloads);
  if (!workloads) return Complain("load", workloads.error().message);
  auto server = DescribeServer(options);
  if (!server) return Complain("load", server.error().message);
  const SteadyClock clock;
  LoadOptions load = options.load;
  load.clock = &clock;
  load.http.connect_timeout_ms = kConnectMsMax;
  load.bytes_per_token = BytesPerToken(load);
  LoadResult result{load.scale, load.seed, {std::move(*server)}};
  bool well = true;
  for (size_t i = 0; i < options.repetitions; ++i) {
    load.repetition = options.first_repetition + i;
    for (const std::string& workload : *workloads) {
      LoadRun run = PlayLoad(workload, load);
      well = PrintFaults(run) && well;
      result.servers.front().runs.push_back(std::move(run));
      // After every workload: a benchmark that is stopped keeps what it has.
      if (options.json_path.empty()) continue;
      const Status wrote = WriteText(options.json_path, LoadJson(result));
      if (!wrote) return Complain("load", wrote.error().message);
    }
  }
  std::printf("%s", LoadText(result).c_str());
  return well ? 0 : 1;
}

int RunBenchLoadReport(const BenchLoadReportOptions& options) {
  const Result<LoadResult> result = ReadResults(options.paths);
  if (!result) return Complain("load-report", result.error().message);
  std::printf("%s", LoadText(*result).c_str());
  Status written;
  if (!options.svg_folder.empty()) {
    for (const NamedPlot& plot : LoadPlots(*result)) {
      if (written) written = WriteText(fs::path(options.svg_folder) / plot.file, plot.svg);
    }
  }
  if (written && !options.markdown_path.empty()) written = WriteMarkdown(options, *result);
  return written ? 0 : Complain("load-report", written.error().message);
}

}  // namespace cairn
