#include "lab/bench/bench_report.h"

#include <cmath>
#include <cstdint>
#include <set>
#include <vector>

#include "base/json.h"
#include "base/text.h"
#include "lab/bench/bench_result.h"

namespace cairn {
namespace {

constexpr size_t kNameColumns = 30;
constexpr size_t kColumnsMax = 99;

std::string Left(const std::string& text, size_t columns) {
  if (text.size() > columns) return text.substr(0, columns - 2) + "..";
  return text + std::string(columns - text.size(), ' ');
}

std::string Right(const std::string& text, size_t columns) {
  return text.size() < columns ? std::string(columns - text.size(), ' ') + text : text;
}

std::string ErrorLine(const std::string& name, const std::string& error) {
  std::string line = "  " + name + " ended early: " + error.substr(0, error.find('\n'));
  if (line.size() > kColumnsMax) line = line.substr(0, kColumnsMax - 2) + "..";
  return line + "\n";
}

// Sums over the successful runs of a scenario on one server.
struct Sums {
  size_t runs = 0;
  size_t sent = 0;
  size_t read = 0;
  size_t lower_bound = 0;
  bool known = true;  // every request has a lower bound
  std::vector<double> first_token_ms;
};

void AddRun(const ScenarioRun& run, Sums* sums) {
  ++sums->runs;
  for (const RequestFigures& request : run.requests) {
    sums->sent += request.prompt_tokens;
    sums->read += request.read_tokens;
    sums->lower_bound += request.lower_bound_tokens;
    sums->known = sums->known && request.lower_bound_tokens > 0;
    if (request.cancelled || request.first_token_ms <= 0) continue;
    sums->first_token_ms.push_back(request.first_token_ms);
  }
}

std::string ScenarioRow(const std::string& name, const Sums& sums) {
  const bool known = sums.known && sums.lower_bound > 0;
  const auto of_run = [&](size_t sum) { return WithCommas((sum + (sums.runs / 2)) / sums.runs); };
  const double ratio = static_cast<double>(sums.read) / static_cast<double>(sums.lower_bound);
  return Left("  " + name, kNameColumns) + Right(of_run(sums.sent), 11) +
         Right(of_run(sums.read), 11) + Right(known ? of_run(sums.lower_bound) : "-", 13) +
         Right(known ? Fixed(ratio, 2) : "-", 9) +
         Right(MsText(Percentile(sums.first_token_ms, 0.5)), 10) +
         Right(MsText(Percentile(sums.first_token_ms, 0.99)), 10) + "\n";
}

std::string ScenarioRows(const BenchResult& result, const std::string& scenario) {
  std::string text = scenario + "\n";
  for (const ServerFigures& server : result.servers) {
    Sums sums;
    std::string errors;
    for (const ScenarioRun& run : server.runs) {
      if (run.scenario != scenario) continue;
      if (run.error.empty()) {
        AddRun(run, &sums);
      } else {
        errors += ErrorLine(server.name, run.error);
      }
    }
    if (sums.runs > 0) text += ScenarioRow(server.name, sums);
    text += errors;
  }
  return text;
}

std::string ScenarioTable(const BenchResult& result) {
  std::string rows;
  std::set<std::string> shown;
  for (const ServerFigures& server : result.servers) {
    for (const ScenarioRun& run : server.runs) {
      if (shown.insert(run.scenario).second) rows += ScenarioRows(result, run.scenario);
    }
  }
  if (rows.empty()) return "";
  return Left("tokens of a run, time to first", kNameColumns) + Right("sent", 11) +
         Right("prefilled", 11) + Right("lower bound", 13) + Right("ratio", 9) +
         Right("median", 10) + Right("p99", 10) + "\n" + rows;
}

std::string FigureText(double value) {
  const bool whole = value == std::floor(value) || value >= 1000;
  return whole ? WithCommas(static_cast<size_t>(std::llround(value))) : Fixed(value, 2);
}

std::string LoadRows(const ServerFigures& server, const LoadRun& run) {
  std::string text = run.workload + ", " + server.name + "\n";
  if (!run.error.empty()) text += ErrorLine(server.name, run.error);
  for (const auto& [key, value] : run.figures) {
    text += Left("  " + key, kNameColumns) + Right(FigureText(value), 11) + "\n";
  }
  return text;
}

constexpr const char* kFormat = "cairn-bench";
constexpr size_t kVersion = 3;

Json ToJson(const RequestFigures& request) {
  return {{"what", request.what},
          {"prompt_tokens", request.prompt_tokens},
          {"answer_tokens", request.answer_tokens},
          {"read_tokens", request.read_tokens},
          {"lower_bound_tokens", request.lower_bound_tokens},
          {"first_token_ms", request.first_token_ms},
          {"total_ms", request.total_ms},
          {"answer_ms", request.answer_ms},
          {"cancelled", request.cancelled},
          {"answer", request.answer}};
}

Json ToJson(const LoadTurn& turn) {
  return {{"message_tokens", turn.message_tokens},
          {"prompt_tokens", turn.prompt_tokens},
          {"read_tokens", turn.read_tokens},
          {"first_token_ms", turn.first_token_ms}};
}

Json ToJson(const ScenarioRun& run);
Json ToJson(const LoadRun& run);
Json ToJson(const ServerFigures& server);

template <typename Item>
Json ListOf(const std::vector<Item>& items) {
  Json list = Json::array();
  for (const Item& item : items) list.push_back(ToJson(item));
  return list;
}

template <typename Map>
Json ObjectOf(const Map& map) {
  Json object = Json::object();
  for (const auto& [key, value] : map) object[key] = value;
  return object;
}

Json ToJson(const ScenarioRun& run) {
  return {{"scenario", run.scenario},
          {"repetition", run.repetition},
          {"error", run.error},
          {"total_ms", run.total_ms},
          {"read_in_all_tokens", run.read_in_all_tokens},
          {"requests", ListOf(run.requests)}};
}

Json ToJson(const LoadRun& run) {
  return {{"workload", run.workload},
          {"repetition", run.repetition},
          {"error", run.error},
          {"figures", ObjectOf(run.figures)},
          {"samples", ObjectOf(run.samples)},
          {"turns", ListOf(run.turns)},
          {"faults", ObjectOf(run.faults)},
          {"fault_details", ObjectOf(run.fault_details)}};
}

Json ToJson(const ServerFigures& server) {
  return {{"name", server.name},
          {"url", server.url},
          {"program", server.program},
          {"model", server.model},
          {"architecture", server.architecture},
          {"memory", server.memory},
          {"command_line", server.command_line},
          {"grid_tokens", server.grid_tokens},
          {"runs", ListOf(server.runs)},
          {"load_runs", ListOf(server.load_runs)}};
}

}  // namespace

std::string FormatBench(const BenchResult& result) {
  std::string text = ScenarioTable(result);
  for (const ServerFigures& server : result.servers) {
    for (const LoadRun& run : server.load_runs) text += LoadRows(server, run);
  }
  return text.empty() ? "Nothing was played.\n" : text;
}

std::string BenchJson(const BenchResult& result) {
  const Json json = {{"format", kFormat},
                     {"version", kVersion},
                     {"scale", result.scale},
                     {"seed", result.seed},
                     {"servers", ListOf(result.servers)}};
  return ToText(json, 1) + "\n";
}

}  // namespace cairn
