#include "lab/cmd/bench.h"

#include <sys/wait.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <set>
#include <sstream>
#include <utility>

#include "base/clock.h"
#include "base/fs.h"
#include "cmd/lib/progress_line.h"
#include "lab/bench/bench_report.h"
#include "lab/bench/bench_result.h"
#include "lab/bench/bench_runner.h"
#include "lab/bench/bench_server.h"
#include "lab/bench/scenario.h"
#include "lab/client/seeded_text.h"
#include "lab/cmd/print_error.h"

namespace cairn {
namespace {

constexpr size_t kSampleBytes = 8192;
constexpr double kBytesPerTokenUnknown = 4;

std::vector<std::string> ScenarioNames() {
  std::vector<std::string> names;
  for (const ScenarioInfo& info : Scenarios()) names.emplace_back(info.name);
  return names;
}

// Returns the scenarios to play. One that needs an option that was not given is left out, with the
// reason on standard error.
Result<std::vector<std::string>> ChosenScenarios(const BenchOptions& options) {
  auto chosen = ChosenNames("scenario", ScenarioNames(), options.scenarios);
  if (!chosen) return chosen;
  std::erase_if(*chosen, [&](const std::string& name) {
    const char* missing = NeedsRestart(name) && options.restarts.empty()   ? "--restart CMD"
                          : NeedsTrace(name) && options.trace_path.empty() ? "--trace FILE"
                                                                           : nullptr;
    if (missing == nullptr) return false;
    std::fprintf(stderr, "Leaving out %s: it needs %s.\n", name.c_str(), missing);
    return true;
  });
  return chosen;
}

// Returns a name that no server before this one has.
std::string UniqueName(const std::string& name, const std::vector<ServerFigures>& servers) {
  const auto taken = [&](const std::string& candidate) {
    return std::any_of(servers.begin(), servers.end(),
                       [&](const ServerFigures& server) { return server.name == candidate; });
  };
  std::string candidate = name;
  for (size_t i = 2; taken(candidate); ++i) candidate = name + " " + std::to_string(i);
  return candidate;
}

Result<std::vector<ServerFigures>> DescribeServers(const BenchOptions& options) {
  const auto at = [](const std::vector<std::string>& list, size_t i) {
    return i < list.size() ? list[i] : "";
  };
  std::vector<ServerFigures> servers;
  for (size_t i = 0; i < options.urls.size(); ++i) {
    auto server = DescribeServer(options.urls[i], at(options.names, i), at(options.commands, i));
    if (!server) return tl::unexpected<Error>(server.error());
    server->name = UniqueName(server->name, servers);
    servers.push_back(std::move(*server));
  }
  return servers;
}

Status RunShell(const std::string& command, const std::string& url) {
  const pid_t child = fork();
  if (child == 0) {
    setenv("CAIRN_BENCH_URL", url.c_str(), 1);
    execl("/bin/sh", "sh", "-c", command.c_str(), nullptr);
    _exit(127);
  }
  int state = 0;
  if (child < 0 || waitpid(child, &state, 0) != child) {
    return Fail(ErrorCode::kInternal, "the command '" + command + "' could not be started");
  }
  if (WIFEXITED(state) && WEXITSTATUS(state) == 0) return {};
  return Fail(ErrorCode::kUnavailable, "the command '" + command + "' failed");
}

// Plays all scenarios on every server in turn.
class Bench {
 public:
  explicit Bench(const BenchOptions& options) : options_(options) {}

  Status Play() {
    auto names = ChosenScenarios(options_);
    if (!names) return tl::unexpected<Error>(names.error());
    if (!options_.trace_path.empty()) {
      auto trace = ReadFile(options_.trace_path);
      if (!trace) return Fail(trace.error().code, "the trace " + trace.error().message);
      params_.trace = std::move(*trace);
    }
    auto servers = DescribeServers(options_);
    if (!servers) return tl::unexpected<Error>(servers.error());
    result_.servers = std::move(*servers);
    result_.scale = params_.scale = options_.scale;
    result_.seed = params_.seed = options_.seed;
    params_.fixed_answer_tokens = options_.fixed_answer_tokens;
    params_.bytes_per_token = BytesPerToken(options_.urls, options_.seed);
    runs_ = names->size() * options_.repetitions * result_.servers.size();
    // Errors of the trace and of the output file are reported before anything is played.
    for (const std::string& name : *names) {
      if (const auto made = MakeScenario(name, params_); !made) return tl::unexpected(made.error());
    }
    if (const Status wrote = WriteJson(); !wrote) return wrote;
    for (params_.repetition = 0; params_.repetition < options_.repetitions; ++params_.repetition) {
      for (const std::string& name : *names) {
        const auto scenario = MakeScenario(name, params_);
        if (!scenario) return tl::unexpected<Error>(scenario.error());
        for (size_t i = 0; i < result_.servers.size(); ++i) PlayOne(*scenario, i);
        if (const Status wrote = WriteJson(); !wrote) return wrote;
      }
    }
    return {};
  }

  const BenchResult& result() const { return result_; }
  size_t ended_early() const { return ended_early_; }

 private:
  // Called after every scenario, so that an interrupted benchmark keeps its figures.
  Status WriteJson() const {
    if (options_.json_path.empty()) return {};
    return WriteText(options_.json_path, BenchJson(result_));
  }

  void PlayOne(const Scenario& scenario, size_t index) {
    ServerFigures& server = result_.servers[index];
    const std::string what = std::to_string(++played_) + "/" + std::to_string(runs_) + " " +
                             scenario.name + ", " + server.name;
    const double requests = static_cast<double>(scenario.requests());
    PlayOptions play;
    play.url = server.url;
    play.clock = &clock_;
    play.pause_ms = options_.pause_ms;
    if (!options_.restarts.empty()) {
      const std::string& command = options_.restarts[index < options_.restarts.size() ? index : 0];
      play.restart = [&] { return RunShell(command, server.url); };
    }
    PlayedScenario played;
    {
      ProgressLine progress(what);
      play.on_progress = [&](size_t done) {
        progress.Update(static_cast<float>(static_cast<double>(done) / requests));
      };
      played = PlayScenario(scenario, play);
    }
    for (const std::string& note : played.notes) {
      std::fprintf(stderr, "%s: %s.\n", what.c_str(), note.c_str());
    }
    if (!played.run.error.empty()) {
      ++ended_early_;
      std::fprintf(stderr, "%s ended early: %s\n", what.c_str(), played.run.error.c_str());
    }
    played.run.repetition = params_.repetition;
    server.runs.push_back(std::move(played.run));
  }

  const BenchOptions& options_;
  const SteadyClock clock_;
  ScenarioParams params_;
  BenchResult result_;
  size_t runs_ = 0;    // to play
  size_t played_ = 0;  // started
  size_t ended_early_ = 0;
};

}  // namespace

Result<std::vector<std::string>> ChosenNames(const std::string& kind,
                                             const std::vector<std::string>& known,
                                             const std::vector<std::string>& lists) {
  std::set<std::string> wanted;
  for (const std::string& list : lists) {
    std::istringstream names(list);
    for (std::string name; std::getline(names, name, ',');) {
      if (!name.empty()) wanted.insert(name);
    }
  }
  const bool all = wanted.erase("all") > 0;
  std::vector<std::string> chosen;
  for (const std::string& name : known) {
    if (wanted.erase(name) > 0 || all) chosen.push_back(name);
  }
  if (wanted.empty()) return chosen;
  return Fail(ErrorCode::kInvalidArgument,
              "there is no " + kind + " '" + *wanted.begin() + "'; there are " + NamesText(known));
}

std::string NamesText(const std::vector<std::string>& known) {
  std::string text = "all";
  for (const std::string& name : known) text += ", " + name;
  return text;
}

Result<ServerFigures> DescribeServer(const std::string& url, const std::string& name,
                                     const std::string& command_line) {
  auto server = BenchServer(url).Describe();
  if (!server) {
    return Fail(server.error().code, "no server at " + url + ": " + server.error().message);
  }
  server->url = url;
  server->name = name.empty() ? server->program.substr(0, server->program.find(' ')) : name;
  if (server->name.empty()) server->name = url;
  server->command_line = command_line;
  return server;
}

double BytesPerToken(const std::vector<std::string>& urls, uint64_t seed) {
  SeededText text(seed, "sample");
  const std::string sample = text.Prose(kSampleBytes);
  for (const std::string& url : urls) {
    const auto tokens = BenchServer(url).Tokenize(sample, /*add_special=*/false);
    if (tokens && !tokens->empty()) {
      return static_cast<double>(kSampleBytes) / static_cast<double>(tokens->size());
    }
  }
  return kBytesPerTokenUnknown;
}

Status WriteText(const std::string& path, const std::string& text) {
  std::ofstream file(path, std::ios::binary);
  file << text;
  if (file.flush()) return {};
  return Fail(ErrorCode::kNotFound, "the file '" + path + "' cannot be written");
}

CLI::App* AddBench(CLI::App* app, BenchOptions* options) {
  CLI::App* bench = app->add_subcommand(
      "bench", "Play what clients do against running servers, and compare what each read");
  bench->add_option("--url", options->urls,
                    "A server that speaks POST /v1/chat/completions, as http://host:port; more "
                    "than one are played in turn and compared with the first");
  bench->add_option("--name", options->names, "Names for the servers, in the same order");
  bench->add_option("--command", options->commands,
                    "How the servers were started, in the same order, for reports");
  bench
      ->add_option("--scenario", options->scenarios,
                   "What to play, with commas between: " + NamesText(ScenarioNames()) +
                       " (see docs/scenarios.md)")
      ->capture_default_str();
  bench->add_option("--scale", options->scale, "All lengths times this")
      ->check(CLI::Range(0.001, 1000.0))
      ->capture_default_str();
  bench->add_option("--seed", options->seed, "Of all made-up text")->capture_default_str();
  bench->add_option("--repeat", options->repetitions, "Play everything so many times")
      ->check(CLI::Range(size_t{1}, size_t{1000}))
      ->capture_default_str();
  bench->add_option("--pause-ms", options->pause_ms, "Wait so long between requests")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  bench
      ->add_option("--fixed-answers", options->fixed_answer_tokens,
                   "Go on with made-up answers of so many tokens in place of the generated ones, "
                   "which have at most as many; all servers then get the same prompts. 0: go on "
                   "with the generated ones")
      ->check(CLI::Range(size_t{0}, size_t{100'000}))
      ->capture_default_str();
  bench->add_option("--restart", options->restarts,
                    "A shell command that ends the server and starts it again, for the scenario "
                    "'restart'; one for each --url, or one that looks at $CAIRN_BENCH_URL");
  bench->add_option("--trace", options->trace_path,
                    "Dialogues to replay, a line each: {\"messages\": […]}");
  bench->add_option(
      "--json", options->json_path,
      "Write all measurements to this file, which scripts/report.sh draws pages from");
  return bench;
}

int RunBench(const BenchOptions& options) {
  if (options.urls.empty()) return PrintError("bench", "--url is needed: which server?");
  if (options.restarts.size() > 1 && options.restarts.size() != options.urls.size()) {
    return PrintError("bench", "there are " + std::to_string(options.restarts.size()) +
                                   " --restart commands for " +
                                   std::to_string(options.urls.size()) + " servers");
  }
  Bench bench(options);
  if (const Status played = bench.Play(); !played)
    return PrintError("bench", played.error().message);
  std::printf("%s", FormatBench(bench.result()).c_str());
  return bench.ended_early() == 0 ? 0 : 1;
}

}  // namespace cairn
