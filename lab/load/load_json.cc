#include "lab/load/load_json.h"

#include <nlohmann/json.hpp>
#include <utility>

namespace cairn {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kFormat = "cairn-load";
constexpr size_t kVersion = 1;

Json TurnJson(const LoadTurn& turn) {
  return {{"message_tokens", turn.message_tokens},
          {"prompt_tokens", turn.prompt_tokens},
          {"read_tokens", turn.read_tokens},
          {"first_token_ms", turn.first_token_ms}};
}

Json RunJson(const LoadRun& run) {
  Json json = {{"workload", run.workload}, {"repetition", run.repetition},
               {"error", run.error},       {"figures", run.figures},
               {"faults", run.faults},     {"fault_details", run.fault_details},
               {"samples", run.samples}};
  json["turns"] = Json::array();
  for (const LoadTurn& turn : run.turns) json["turns"].push_back(TurnJson(turn));
  return json;
}

Json ServerJson(const LoadServer& server) {
  Json json = {{"name", server.name},
               {"program", server.program},
               {"model", server.model},
               {"command_line", server.command_line}};
  json["runs"] = Json::array();
  for (const LoadRun& run : server.runs) json["runs"].push_back(RunJson(run));
  return json;
}

LoadTurn ReadTurn(const Json& json) {
  return {json.at("message_tokens").get<size_t>(), json.at("prompt_tokens").get<size_t>(),
          json.at("read_tokens").get<size_t>(), json.at("first_token_ms").get<double>()};
}

LoadRun ReadRun(const Json& json) {
  LoadRun run;
  json.at("workload").get_to(run.workload);
  json.at("repetition").get_to(run.repetition);
  json.at("error").get_to(run.error);
  json.at("figures").get_to(run.figures);
  json.at("faults").get_to(run.faults);
  json.at("fault_details").get_to(run.fault_details);
  json.at("samples").get_to(run.samples);
  for (const Json& turn : json.at("turns")) run.turns.push_back(ReadTurn(turn));
  return run;
}

LoadServer ReadServer(const Json& json) {
  LoadServer server;
  json.at("name").get_to(server.name);
  json.at("program").get_to(server.program);
  json.at("model").get_to(server.model);
  json.at("command_line").get_to(server.command_line);
  for (const Json& run : json.at("runs")) server.runs.push_back(ReadRun(run));
  return server;
}

}  // namespace

std::string LoadJson(const LoadResult& result) {
  Json json = {
      {"format", kFormat}, {"version", kVersion}, {"scale", result.scale}, {"seed", result.seed}};
  json["servers"] = Json::array();
  for (const LoadServer& server : result.servers) json["servers"].push_back(ServerJson(server));
  return json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

Result<LoadResult> ReadLoadJson(std::string_view text) {
  const Json json = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object() || json.value("format", Json()) != Json(kFormat)) {
    return Fail(ErrorCode::kCorrupt, "it is no result of cairn-lab bench load");
  }
  if (json.value("version", Json()) != Json(kVersion)) {
    return Fail(ErrorCode::kCorrupt, "it is in another version's format; run the benchmark again");
  }
  LoadResult result;
  try {
    json.at("scale").get_to(result.scale);
    json.at("seed").get_to(result.seed);
    for (const Json& server : json.at("servers")) result.servers.push_back(ReadServer(server));
  } catch (const Json::exception& error) {
    return Fail(ErrorCode::kCorrupt, error.what());
  }
  return result;
}

}  // namespace cairn
