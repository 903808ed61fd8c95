#include "lab/bench/bench_json.h"

#include <vector>

#include "base/json.h"

namespace cairn {
namespace {

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

std::string BenchJson(const BenchResult& result) {
  const Json json = {{"format", kFormat},
                     {"version", kVersion},
                     {"scale", result.scale},
                     {"seed", result.seed},
                     {"servers", ListOf(result.servers)}};
  return ToText(json, 1) + "\n";
}

}  // namespace cairn
