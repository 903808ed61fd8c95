#include "lab/cmd/sim_fleet.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <functional>
#include <optional>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/json.h"
#include "base/text.h"
#include "cmd/lib/progress_line.h"
#include "lab/fleet/fleet.h"

namespace cairn {
namespace {

constexpr double kSPerMin = 60;
constexpr double kBitsPerByte = 8;
constexpr double kGiga = 1e9;
constexpr double kGib = 1 << 30;
constexpr double kMib = 1 << 20;

double Ratio(double part, double whole) {
  return whole > 0 ? part / whole : 0;
}

// The smallest, the middle and the largest value of the servers, and the largest over the mean.
struct Spread {
  double min = 0;
  double median = 0;
  double max = 0;
  double max_over_mean = 0;
};

Spread SpreadOf(const std::vector<FleetFigures>& servers,
                const std::function<double(const FleetFigures&)>& value) {
  std::vector<double> values;
  double sum = 0;
  for (const FleetFigures& figures : servers) {
    values.push_back(value(figures));
    sum += values.back();
  }
  std::sort(values.begin(), values.end());
  const double mean = sum / static_cast<double>(values.size());
  return {values.front(), values[values.size() / 2], values.back(), Ratio(values.back(), mean)};
}

struct Outcome {
  FleetReport report;
  std::optional<FleetReport> large;  // one server with all budgets
  double elapsed_s = 0;              // of the fleet
};

FleetOptions ToFleetOptions(const FleetCommandOptions& options, const SimOptions& server,
                            size_t context_tokens) {
  FleetOptions fleet;
  fleet.server = server;
  fleet.context_tokens = context_tokens;
  fleet.servers = options.servers;
  fleet.cell_servers = options.cell_servers;
  fleet.cells_played = options.cells_played;
  fleet.front = options.front;
  fleet.front_options.balance_factor = options.balance_factor;
  fleet.front_options.ring_points = options.ring_points;
  fleet.lose_server = options.lose_server;
  if (!options.remote) return fleet;
  fleet.remote.bytes_max =
      options.remote_gib < 0 ? UINT64_MAX : static_cast<uint64_t>(options.remote_gib) << 30;
  fleet.remote.after_ms = options.remote_after_s * kMsPerS;
  fleet.remote.min_ms = options.remote_min_ms;
  fleet.remote.bytes_per_s = options.remote_gbit_s * kGiga / kBitsPerByte;
  fleet.remote.write_bytes_per_s = options.remote_write_mib_s * kMib;
  fleet.remote.round_trip_ms = options.remote_round_trip_ms;
  return fleet;
}

Json FiguresJson(const FleetFigures& figures) {
  return {{"requests", figures.requests},
          {"prompt_tokens", figures.prompt_tokens},
          {"read_tokens", figures.read_tokens()},
          {"token_hit_rate", figures.token_hit_rate()}};
}

Json FiguresJson(const Spread& spread) {
  return {{"min", spread.min},
          {"median", spread.median},
          {"max", spread.max},
          {"max_over_mean", spread.max_over_mean}};
}

Json RemoteJson(const FleetReport& report) {
  return {{"uploaded_bytes", report.remote_moved.uploaded_bytes},
          {"uploads", report.remote_moved.uploads},
          {"uploads_left_out", report.remote_counts.uploads_left_out},
          {"downloaded_bytes", report.remote_moved.downloaded_bytes},
          {"downloads", report.remote_moved.downloads},
          {"fetches", report.remote_counts.fetches},
          {"fetched_tokens", report.remote_counts.fetched_tokens},
          {"not_worth", report.remote_counts.not_worth},
          {"evicted", report.remote_moved.evicted},
          {"held_bytes", report.remote_bytes}};
}

double RequestsOf(const FleetFigures& figures) {
  return static_cast<double>(figures.requests);
}
double ReadTokensOf(const FleetFigures& figures) {
  return static_cast<double>(figures.read_tokens());
}

Json FiguresJson(const FleetCommandOptions& options, const PlayedTrace& run,
                 const SimOptions& server, const Outcome& outcome) {
  const FleetReport& report = outcome.report;
  const double read_tokens = ReadTokensOf(report.all);
  Json json = {
      {"trace", run.trace_path},
      {"model_profile", run.profile},
      {"placement", server.placement},
      {"eviction", server.eviction},
      {"prefill_tokens_per_s", server.profile.prefill_tokens_per_s},
      {"ram_bytes", server.cache.ram_bytes_max},
      {"disk_bytes", server.disk.bytes_max},
      {"sessions", run.sessions},
      {"servers", options.servers},
      {"servers_played", report.servers.size()},
      {"cell_servers", options.cell_servers},
      {"front", options.front},
      {"copies", options.copies},
      {"stretch", options.stretch},
      {"remote", options.remote},
      {"lose_server", options.lose_server},
      {"requests", report.all.requests},
      {"refused", report.all.refused},
      {"conversations", report.conversations},
      {"moved", report.moved},
      {"prompt_tokens", report.all.prompt_tokens},
      {"read_tokens", report.all.read_tokens()},
      {"token_hit_rate", report.all.token_hit_rate()},
      {"unavoidable_tokens", report.new_tokens},
      {"read_over_unavoidable", Ratio(read_tokens, static_cast<double>(report.new_tokens))},
      {"first_half", FiguresJson(report.first_half)},
      {"second_half", FiguresJson(report.second_half)},
      {"requests_of_servers", FiguresJson(SpreadOf(report.servers, RequestsOf))},
      {"read_tokens_of_servers", FiguresJson(SpreadOf(report.servers, ReadTokensOf))},
      {"disk_written_bytes", report.disk_written_bytes},
      {"disk_read_bytes", report.disk_read_bytes},
      {"wait_ms_median", NearestRank(report.wait_ms, 0.5)},
      {"wait_ms_p90", NearestRank(report.wait_ms, 0.9)},
      {"wait_ms_p99", NearestRank(report.wait_ms, 0.99)},
      {"elapsed_s", outcome.elapsed_s},
      {"requests_per_min", Ratio(RequestsOf(report.all) * kSPerMin, outcome.elapsed_s)}};
  if (options.remote) json["remote_tier"] = RemoteJson(report);
  if (outcome.large) {
    json["one_large_server"] = FiguresJson(outcome.large->all);
    json["read_over_one_large"] = Ratio(read_tokens, ReadTokensOf(outcome.large->all));
  }
  return json;
}

std::string Count(double number) {
  return Fixed(number, 0);
}

std::string Gib(uint64_t bytes) {
  return Fixed(static_cast<double>(bytes) / kGib, 1) + " GiB";
}

std::string SpreadText(const Spread& spread) {
  return Count(spread.min) + " to " + Count(spread.max) + ", median " + Count(spread.median) +
         ", most over mean " + Fixed(spread.max_over_mean, 2);
}

std::string HitsText(const FleetFigures& figures) {
  return Fixed(figures.token_hit_rate() * kPercent, 3) + " %";
}

void PrintRemote(const FleetReport& report) {
  PrintFigure("remote, up", Gib(report.remote_moved.uploaded_bytes) + " in " +
                                std::to_string(report.remote_moved.uploads) +
                                " objects, left out " +
                                std::to_string(report.remote_counts.uploads_left_out));
  PrintFigure("remote, down", Gib(report.remote_moved.downloaded_bytes) + " for " +
                                  std::to_string(report.remote_counts.fetches) +
                                  " requests, which spared " +
                                  std::to_string(report.remote_counts.fetched_tokens) + " tokens");
  PrintFigure("remote, held", Gib(report.remote_bytes) + " at the end, evicted " +
                                  std::to_string(report.remote_moved.evicted));
}

void PrintFleet(const FleetCommandOptions& options, const Outcome& outcome) {
  const FleetReport& report = outcome.report;
  const double read_tokens = ReadTokensOf(report.all);
  PrintFigure("servers", std::to_string(options.servers) + ", played " +
                             std::to_string(report.servers.size()) + ", front " + options.front);
  PrintFigure("requests", std::to_string(report.all.requests) + ", too long " +
                              std::to_string(report.all.refused) + ", of " +
                              std::to_string(report.conversations) + " conversations");
  PrintFigure("moved", std::to_string(report.moved) + " requests");
  PrintFigure("prompt tokens", std::to_string(report.all.prompt_tokens));
  PrintFigure("read", std::to_string(report.all.read_tokens()) + ", " +
                          Fixed(Ratio(read_tokens, static_cast<double>(report.new_tokens)), 3) +
                          " times the " + std::to_string(report.new_tokens) + " new to any cache");
  if (outcome.large) {
    PrintFigure("one large server",
                std::to_string(outcome.large->all.read_tokens()) + " read; the fleet reads " +
                    Fixed(Ratio(read_tokens, ReadTokensOf(outcome.large->all)), 3) +
                    " times as many");
  }
  PrintFigure("token hits", HitsText(report.all) + "; first half " + HitsText(report.first_half) +
                                ", second half " + HitsText(report.second_half));
  PrintFigure("requests a server", SpreadText(SpreadOf(report.servers, RequestsOf)));
  PrintFigure("read a server", SpreadText(SpreadOf(report.servers, ReadTokensOf)));
  if (report.disk_written_bytes > 0) {
    PrintFigure("disks", Gib(report.disk_written_bytes) + " written, " +
                             Gib(report.disk_read_bytes) + " read");
  }
  if (options.remote) PrintRemote(report);
  PrintFigure("waited", Fixed(NearestRank(report.wait_ms, 0.5), 1) + " ms (median), " +
                            Fixed(NearestRank(report.wait_ms, 0.9), 1) + " ms (p90), " +
                            Fixed(NearestRank(report.wait_ms, 0.99), 1) + " ms (p99)");
  PrintFigure("played", Fixed(outcome.elapsed_s, 1) + " s, " +
                            Count(Ratio(RequestsOf(report.all) * kSPerMin, outcome.elapsed_s)) +
                            " requests a minute");
}

Result<FleetReport> Play(const std::string& title, const FleetTrace& trace,
                         const std::vector<FleetStep>& steps, const FleetOptions& fleet) {
  ProgressLine progress(title);
  return SimulateFleet(trace, steps, fleet, [&](size_t done) {
    if (done % kRequestsPerProgress != 0) return;
    progress.Update(static_cast<float>(done) / static_cast<float>(steps.size()));
  });
}

void AddRemoteOptions(CLI::App* sim, FleetCommandOptions* options) {
  sim->add_flag("--remote", options->remote,
                "With --servers and --disk-gib: a remote tier behind the folders of all servers");
  sim->add_option("--remote-gib", options->remote_gib, "The remote tier's budget (-1: no limit)")
      ->check(CLI::Range(int64_t{-1}, int64_t{1} << 30))
      ->capture_default_str();
  sim->add_option("--remote-after-s", options->remote_after_s,
                  "Write the newest checkpoint of a conversation after so long without a request")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  sim->add_option("--remote-min-ms", options->remote_min_ms,
                  "Fetch only where more than so much prefill is left")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  sim->add_option("--remote-gbit-s", options->remote_gbit_s, "The speed of each server's link")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  sim->add_option("--remote-write-mib-s", options->remote_write_mib_s,
                  "The most that each server writes to the remote tier")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  sim->add_option("--remote-round-trip-ms", options->remote_round_trip_ms,
                  "The time of a fetch beside its bytes")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
}

}  // namespace

void AddFleetOptions(CLI::App* sim, FleetCommandOptions* options) {
  sim->add_option("--servers", options->servers,
                  "So many servers behind a front, each with the budgets above (0: one server "
                  "without a front)")
      ->check(CLI::Range(size_t{0}, size_t{10'000}))
      ->capture_default_str();
  sim->add_option("--front", options->front,
                  "How the front chooses a server: hash (of the conversation, with bounded load), "
                  "prefix (the longest that can be resumed, and the queue), random, round-robin")
      ->capture_default_str();
  sim->add_option(
         "--cell-servers", options->cell_servers,
         "Cells of so many servers: a hash of the conversation chooses the cell, the front "
         "a server in it (0: one cell)")
      ->capture_default_str();
  sim->add_option("--cells-played", options->cells_played,
                  "Play only so many cells, and leave out the requests of the others (0: all)")
      ->capture_default_str();
  sim->add_option(
         "--copies", options->copies,
         "Play the trace so many times side by side: the same headers, other conversations")
      ->check(CLI::Range(size_t{1}, size_t{100'000}))
      ->capture_default_str();
  sim->add_option("--stretch", options->stretch, "With --servers: the trace's times, times this")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  sim->add_option("--balance-factor", options->balance_factor,
                  "hash: the most requests of a server, as a multiple of the mean (0: no limit)")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  sim->add_option("--ring-points", options->ring_points,
                  "hash: points of a server on the ring; HAProxy has 16 for each unit of weight")
      ->check(CLI::Range(size_t{1}, size_t{4096}))
      ->capture_default_str();
  AddRemoteOptions(sim, options);
  sim->add_flag("--lose-server", options->lose_server,
                "End a server after half of the requests, with its memory and folder");
  sim->add_flag("--one-large", options->one_large,
                "Also one server with the budgets of all, for comparison");
}

Status RunFleet(const FleetCommandOptions& options, const PlayedTrace& run,
                const SimOptions& server, const Trace& trace) {
  const std::vector<TraceStep> base = Interleave(trace, run.sessions);
  const auto fleet_trace = FleetTrace::Make(trace, run.sessions, OracleInputFor(base, server));
  if (!fleet_trace) return tl::unexpected(fleet_trace.error());
  const std::vector<FleetStep> steps =
      fleet_trace->Steps(options.copies, run.sessions, options.stretch);
  const FleetOptions fleet = ToFleetOptions(options, server, ContextTokens(base, server));
  const auto begin = std::chrono::steady_clock::now();
  auto report = Play("Replaying " + run.trace_path, *fleet_trace, steps, fleet);
  if (!report) return tl::unexpected(report.error());
  Outcome outcome;
  outcome.report = std::move(*report);
  outcome.elapsed_s =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  if (options.one_large) {
    auto large = Play("On one large server", *fleet_trace, steps, OneLargeServer(fleet));
    if (!large) return tl::unexpected(large.error());
    outcome.large = std::move(*large);
  }
  PrintFleet(options, outcome);
  if (run.json_path.empty()) return {};
  std::ofstream out(run.json_path);
  out << FiguresJson(options, run, server, outcome).dump(2) << "\n";
  if (out) return {};
  return Fail(ErrorCode::kInternal, "could not write " + run.json_path);
}

}  // namespace cairn
