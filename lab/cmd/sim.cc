#include "lab/cmd/sim.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cstdio>
#include <fstream>
#include <optional>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/json.h"
#include "base/text.h"
#include "cmd/lib/progress_line.h"
#include "lab/cmd/print_error.h"
#include "lab/cmd/sim_fleet.h"
#include "lab/sim/oracle.h"
#include "lab/sim/simulator.h"

namespace cairn {
namespace {

double Sum(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += value;
  return sum;
}

size_t RamBytes(int64_t mib) {
  return mib < 0 ? SIZE_MAX : static_cast<size_t>(mib) << 20;
}

double WaitMsMin(const OracleBound& bound, const ModelProfile& profile) {
  return bound.wait_tokens_min / profile.prefill_tokens_per_s * kMsPerS;
}

Json ReportJson(const SimCommandOptions& options, const SimOptions& sim, const SimReport& report,
                const std::optional<OracleBound>& bound) {
  const double disk_read_s =
      static_cast<double>(report.disk_read_bytes) / sim.disk.read_bytes_per_s;
  Json json = {{"trace", options.trace_path},
               {"model_profile", options.profile},
               {"placement", options.placement},
               {"eviction", options.eviction},
               {"ram_mib", options.ram_mib},
               {"disk_gib", options.disk_gib},
               {"sessions", options.sessions},
               {"slots", options.slots},
               {"kv_bytes_per_token", sim.profile.kv_bytes_per_token},
               {"requests", report.requests},
               {"refused", report.refused},
               {"prompt_tokens", report.prompt_tokens},
               {"read_tokens", report.read_tokens()},
               {"token_hit_rate", report.token_hit_rate()},
               {"token_hit_rate_max", report.best_hit_rate()},
               {"unavoidable_tokens", report.prompt_tokens - report.shared_tokens},
               {"checkpoints_taken", report.checkpoints_taken},
               {"checkpoints_per_10k_prompt_tokens", report.checkpoints_per_10k_prompt()},
               {"checkpoints_per_10k_read_tokens", report.checkpoints_per_10k_read()},
               {"restored", report.restored},
               {"forked", report.forked},
               {"offloaded", report.offloaded},
               {"evicted", report.checkpoints_evicted},
               {"taken_bytes", report.taken_bytes},
               {"restored_bytes", report.restored_bytes},
               {"held_bytes_max", report.held_bytes_max},
               {"disk_written_bytes", report.disk_written_bytes},
               {"disk_read_bytes", report.disk_read_bytes},
               {"disk_read_ms", disk_read_s * kMsPerS},
               {"disk_evicted", report.disk_evicted},
               {"wait_ms", Sum(report.wait_ms)},
               {"wait_ms_median", NearestRank(report.wait_ms, 0.5)},
               {"wait_ms_p90", NearestRank(report.wait_ms, 0.9)},
               {"wait_ms_p99", NearestRank(report.wait_ms, 0.99)}};
  if (!options.without.empty()) json["without"] = options.without;
  if (report.served_requests > 0) json["served_reused_tokens"] = report.served_reused_tokens;
  if (bound) {
    json["read_tokens_bound"] = bound->read_tokens_min();
    json["bound_kind"] = BoundKindName(bound->kind);
    json["wait_ms_bound"] = WaitMsMin(*bound, sim.profile);
    if (bound->saved_tokens_found > 0) {
      json["read_tokens_found"] = bound->prompt_tokens - bound->saved_tokens_found;
    }
  }
  return json;
}

void PrintReport(const ModelProfile& profile, const SimReport& report,
                 const std::optional<OracleBound>& bound) {
  const auto count = [](uint64_t number) { return std::to_string(number); };
  PrintFigure("requests", count(report.requests) + ", too long " + count(report.refused));
  PrintFigure("prompt tokens", count(report.prompt_tokens));
  PrintFigure("read", count(report.read_tokens()) + ", of these new to any cache " +
                          count(report.prompt_tokens - report.shared_tokens));
  if (bound) {
    const bool exact = bound->kind == BoundKind::kExact;
    PrintFigure("no cache reads less", count(static_cast<uint64_t>(bound->read_tokens_min())) +
                                           " with this memory and disk (" +
                                           (exact ? "exact" : "an upper bound on what is saved") +
                                           "; see docs/oracle.md)");
  }
  PrintFigure("token hits", Fixed(report.token_hit_rate() * kPercent, 3) + " %, at most " +
                                Fixed(report.best_hit_rate() * kPercent, 3) + " % possible");
  if (report.served_requests > 0) {
    PrintFigure("reused", count(report.reused_tokens) + "; the server that wrote the trace said " +
                              count(report.served_reused_tokens));
  }
  PrintFigure("checkpoints", count(report.checkpoints_taken) + " taken, " +
                                 Fixed(report.checkpoints_per_10k_read(), 2) +
                                 " for 10,000 tokens read");
  PrintFigure("resume paths",
              count(report.restored) + " restored, " + count(report.forked) + " forked");
  PrintFigure("slots stored", count(report.offloaded));
  PrintFigure("evicted", count(report.checkpoints_evicted));
  PrintFigure("bytes", count(report.taken_bytes) + " taken, " + count(report.restored_bytes) +
                           " brought back, " + count(report.held_bytes_max) + " held at most");
  if (report.disk_written_bytes > 0) {
    PrintFigure("disk", count(report.disk_written_bytes) + " bytes written, " +
                            count(report.disk_read_bytes) + " read; files evicted " +
                            count(report.disk_evicted));
  }
  PrintFigure("waited", Fixed(Sum(report.wait_ms) / kMsPerS, 1) + " s; a request " +
                            Fixed(NearestRank(report.wait_ms, 0.5), 1) + " ms (median), " +
                            Fixed(NearestRank(report.wait_ms, 0.9), 1) + " ms (p90), " +
                            Fixed(NearestRank(report.wait_ms, 0.99), 1) + " ms (p99)");
  if (bound) {
    PrintFigure("no cache waits less",
                "than " + Fixed(WaitMsMin(*bound, profile) / kMsPerS, 1) + " s");
  }
}

// Returns the class as one word, such as "tool-turn".
std::string ClassWord(CheckpointClass checkpoint_class) {
  std::string word(CheckpointClassName(checkpoint_class));
  std::replace(word.begin(), word.end(), ' ', '-');
  return word;
}

constexpr std::array kClasses = {
    CheckpointClass::kHeader, CheckpointClass::kTurn,   CheckpointClass::kToolTurn,
    CheckpointClass::kPrompt, CheckpointClass::kQuery,  CheckpointClass::kEnd,
    CheckpointClass::kLadder, CheckpointClass::kBranch, CheckpointClass::kInterval,
    CheckpointClass::kMark,   CheckpointClass::kReply};

std::string ClassWords() {
  std::string words;
  for (const CheckpointClass known : kClasses) {
    words.append(words.empty() ? "" : ", ").append(ClassWord(known));
  }
  return words;
}

Status LeaveOut(const std::string& word, SimOptions* sim) {
  const auto* const found =
      std::find_if(kClasses.begin(), kClasses.end(),
                   [&](CheckpointClass known) { return ClassWord(known) == word; });
  if (found == kClasses.end()) {
    return Fail(ErrorCode::kInvalidArgument, "there is no class of checkpoints named '" + word +
                                                 "'; there are: " + ClassWords());
  }
  // Two classes belong to no placement: an answer left in its slot, and the end of every prompt.
  if (*found == CheckpointClass::kReply) sim->answers = false;
  if (*found == CheckpointClass::kEnd) sim->keep_ends = false;
  sim->without.push_back(*found);
  return {};
}

Result<SimOptions> ToSimOptions(const SimCommandOptions& options) {
  SimOptions sim;
  const auto profile = FindModelProfile(options.profile);
  if (!profile) return tl::unexpected(profile.error());
  const auto reuse = ParseReuseMode(options.reuse);
  if (!reuse) return tl::unexpected(reuse.error());
  sim.profile = *profile;
  if (options.prefill_tokens_per_s > 0) {
    sim.profile.prefill_tokens_per_s = options.prefill_tokens_per_s;
  }
  sim.reuse = *reuse;
  sim.placement = options.placement;
  sim.eviction = options.eviction;
  sim.cache.ram_bytes_max = RamBytes(options.ram_mib);
  sim.disk.bytes_max = static_cast<uint64_t>(options.disk_gib) << 30;
  sim.cache.path_checkpoints_max = options.checkpoints_max;
  sim.slots = options.slots;
  sim.context_tokens = options.context_tokens;
  sim.chunk_tokens_max = options.chunk_tokens;
  sim.intervals.batch_tokens = options.chunk_tokens;
  // As in serve: without checkpoints nothing is stored at all.
  sim.keep_ends = sim.offload = options.placement != "none" && options.ram_mib != 0;
  for (const std::string& word : options.without) {
    if (Status left_out = LeaveOut(word, &sim); !left_out) return tl::unexpected(left_out.error());
  }
  return sim;
}

}  // namespace

CLI::App* AddSim(CLI::App* app, SimCommandOptions* options) {
  CLI::App* sim = app->add_subcommand(
      "sim", "Replay a trace of requests: what this cache saves, and what any could");
  sim->add_option("--trace", options->trace_path, "JSON lines; see --format")
      ->required()
      ->check(CLI::ExistingFile);
  sim->add_option("--format", options->format,
                  "blocks (a request a line: Mooncake's traces and those of serve --trace-out), "
                  "sessions (a session a line), messages (a dialogue a line, with its text), or "
                  "auto")
      ->capture_default_str();
  std::string profiles;
  for (const ModelProfile& profile : ModelProfiles()) {
    profiles.append(profiles.empty() ? "" : ", ").append(profile.name);
  }
  sim->add_option("--model-profile", options->profile, "Sizes and speeds of " + profiles)
      ->capture_default_str();
  sim->add_option("--placement", options->placement, "As of serve")->capture_default_str();
  sim->add_option("--eviction", options->eviction, "As of serve")->capture_default_str();
  sim->add_option("--reuse", options->reuse, "As of serve")->capture_default_str();
  sim->add_option("--ram-mib", options->ram_mib, "The cache's budget (-1: no limit, 0: no cache)")
      ->check(CLI::Range(int64_t{-1}, int64_t{1} << 40))
      ->capture_default_str();
  sim->add_option("--disk-gib", options->disk_gib,
                  "Save to a disk with so much room, which is read at 2 GB/s (0: none)")
      ->check(CLI::Range(int64_t{0}, int64_t{1} << 20))
      ->capture_default_str();
  sim->add_option("--ctx-checkpoints", options->checkpoints_max,
                  "At most N checkpoints on a conversation's path (0: as many as fit)")
      ->capture_default_str();
  sim->add_option("--sessions", options->sessions,
                  "So many sessions side by side, the next when one ends (0: as in the trace)")
      ->capture_default_str();
  sim->add_option("--parallel", options->slots, "Slots")
      ->check(CLI::Range(size_t{1}, size_t{256}))
      ->capture_default_str();
  sim->add_option("--ctx-size", options->context_tokens,
                  "Tokens that the slots hold together (0: what the longest request needs)")
      ->capture_default_str();
  sim->add_option("--ubatch-size", options->chunk_tokens, "As of serve")
      ->check(CLI::Range(size_t{1}, size_t{1} << 20))
      ->capture_default_str();
  sim->add_option(
         "--without", options->without,
         "Take no checkpoints of these classes, to see what they are worth: " + ClassWords())
      ->delimiter(',');
  sim->add_option("--prefill-tokens-per-s", options->prefill_tokens_per_s,
                  "The model's speed, in place of the profile's (0: the profile's)")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  sim->add_flag("--bound", options->bound,
                "Also what no cache with this memory and disk could beat");
  sim->add_option("--json", options->json_path, "Write the figures to this file too");
  AddFleetOptions(sim, &options->fleet);
  return sim;
}

int RunSim(const SimCommandOptions& options) {
  const auto format = ParseTraceFormat(options.format);
  if (!format) return PrintError("sim", format.error().message);
  const auto sim = ToSimOptions(options);
  if (!sim) return PrintError("sim", sim.error().message);
  std::ifstream in(options.trace_path);
  const auto trace = ReadTrace(in, *format);
  if (!trace) return PrintError("sim", options.trace_path + ": " + trace.error().message);
  if (trace->torn_lines > 0) {
    std::fprintf(stderr, "cairn-lab sim: warning: %s: %zu lines were cut short and are left out\n",
                 options.trace_path.c_str(), trace->torn_lines);
  }
  if (options.fleet.servers > 0) {
    if (options.bound)
      return PrintError("sim", "--bound is of one server; leave it or --servers out");
    const PlayedTrace run{options.trace_path, options.profile, options.sessions, options.json_path};
    const Status ran = RunFleet(options.fleet, run, *sim, *trace);
    return ran ? 0 : PrintError("sim", ran.error().message);
  }
  const std::vector<TraceStep> steps = Interleave(*trace, options.sessions);
  ProgressLine progress("Replaying " + options.trace_path);
  const auto report = Simulate(steps, trace->block_tokens, *sim, [&](size_t done) {
    if (done % kRequestsPerProgress != 0) return;
    progress.Update(static_cast<float>(done) / static_cast<float>(steps.size()));
  });
  if (!report) return PrintError("sim", report.error().message);
  std::optional<OracleBound> bound;
  if (options.bound) {
    bound = BestSaved(steps, trace->block_tokens, OracleInputFor(steps, *sim));
  }
  PrintReport(sim->profile, *report, bound);
  if (options.json_path.empty()) return 0;
  std::ofstream out(options.json_path);
  out << ReportJson(options, *sim, *report, bound).dump(2) << "\n";
  return out ? 0 : PrintError("sim", "could not write " + options.json_path);
}

}  // namespace cairn
