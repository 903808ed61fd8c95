#include "lab/bench/bench_json.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "lab/bench/bench_summary.h"

namespace cairn {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kFormat = "cairn-bench";
constexpr size_t kVersion = 1;

Json RequestJson(const RequestFigures& request) {
  return {{"what", request.what},
          {"prompt_tokens", request.prompt_tokens},
          {"answer_tokens", request.answer_tokens},
          {"read_tokens", request.read_tokens},
          {"unavoidable_tokens", request.lower_bound_tokens},
          {"first_token_ms", request.first_token_ms},
          {"total_ms", request.total_ms},
          {"answer_ms", request.answer_ms},
          {"cancelled", request.cancelled}};
}

Json RunJson(const ScenarioRun& run) {
  Json json = {{"scenario", run.scenario},
               {"repetition", run.repetition},
               {"read_in_all_tokens", run.read_in_all_tokens},
               {"total_ms", run.total_ms},
               {"error", run.error}};
  json["requests"] = Json::array();
  for (const RequestFigures& request : run.requests)
    json["requests"].push_back(RequestJson(request));
  return json;
}

double Rounded(double value) {
  return std::round(value * 1000) / 1000;
}

Json SummaryJson(const ScenarioSummary& summary) {
  return {{"scenario", summary.scenario},
          {"runs", summary.runs},
          {"errors", summary.errors},
          {"requests", summary.tokens.requests},
          {"sent_tokens", summary.tokens.sent},
          {"read_tokens", summary.tokens.read},
          {"unavoidable_tokens", summary.tokens.lower_bound},
          {"read_in_all_tokens", summary.tokens.read_in_all},
          {"allowed_tokens", Rounded(summary.allowed_tokens)},
          {"read_over_unavoidable", Rounded(summary.tokens.ReadRatio())},
          {"read_in_all_over_unavoidable", Rounded(summary.tokens.ReadInAllRatio())},
          {"first_token_median_ms", Rounded(summary.first_token_median_ms)},
          {"first_token_p90_ms", Rounded(summary.first_token_p90_ms)},
          {"first_token_p99_ms", Rounded(summary.first_token_p99_ms)},
          {"tokens_per_second", Rounded(summary.tokens_per_second)}};
}

// What the server's figures come to, and how those of the first compare with them.
Json SummariesJson(const BenchResult& result, const ServerFigures& server) {
  Json summaries = Json::array();
  for (const std::string& scenario : ScenarioNames(result)) {
    Json json = SummaryJson(Summarize(server, scenario));
    if (&server != &result.servers.front()) {
      const PairSummary pairs = Compare(result.servers.front(), server, scenario);
      json["pairs"] = pairs.pairs.size();
      json["first_token_ratio"] = Rounded(pairs.first_token_ratio);
    }
    summaries.push_back(std::move(json));
  }
  return summaries;
}

Json ServerJson(const BenchResult& result, const ServerFigures& server) {
  Json json = {{"name", server.name},
               {"url", server.url},
               {"program", server.program},
               {"model", server.model},
               {"memory", server.memory},
               {"command_line", server.command_line},
               {"grid_tokens", server.grid_tokens}};
  json["summary"] = SummariesJson(result, server);
  json["runs"] = Json::array();
  for (const ScenarioRun& run : server.runs) json["runs"].push_back(RunJson(run));
  return json;
}

// Takes fields out of an object and remembers the first that was not as it should be.
class Reader {
 public:
  explicit Reader(std::string* complaint) : complaint_(complaint) {}

  void Text(const Json& json, const char* name, std::string* value) {
    if (const Json* field = Field(json, name, &Json::is_string, "a text")) {
      *value = field->get<std::string>();
    }
  }
  void Size(const Json& json, const char* name, size_t* value) {
    if (const Json* field = Field(json, name, &Json::is_number_unsigned, "a number of things")) {
      *value = field->get<size_t>();
    }
  }
  void Number(const Json& json, const char* name, double* value) {
    if (const Json* field = Field(json, name, &Json::is_number, "a number")) {
      *value = field->get<double>();
    }
  }
  void Flag(const Json& json, const char* name, bool* value) {
    if (const Json* field = Field(json, name, &Json::is_boolean, "true or false")) {
      *value = field->get<bool>();
    }
  }
  const Json& List(const Json& json, const char* name) {
    const Json* field = Field(json, name, &Json::is_array, "a list");
    return field != nullptr ? *field : empty_;
  }

 private:
  const Json* Field(const Json& json, const char* name, bool (Json::*is)() const noexcept,
                    const char* wanted) {
    if (json.is_object() && json.contains(name) && (json[name].*is)()) return &json[name];
    if (complaint_->empty()) *complaint_ = std::string(name) + " must be " + wanted;
    return nullptr;
  }

  std::string* complaint_;
  const Json empty_ = Json::array();
};

RequestFigures ReadRequest(const Json& json, Reader* reader) {
  RequestFigures request;
  reader->Text(json, "what", &request.what);
  reader->Size(json, "prompt_tokens", &request.prompt_tokens);
  reader->Size(json, "answer_tokens", &request.answer_tokens);
  reader->Size(json, "read_tokens", &request.read_tokens);
  reader->Size(json, "unavoidable_tokens", &request.lower_bound_tokens);
  reader->Number(json, "first_token_ms", &request.first_token_ms);
  reader->Number(json, "total_ms", &request.total_ms);
  reader->Number(json, "answer_ms", &request.answer_ms);
  reader->Flag(json, "cancelled", &request.cancelled);
  return request;
}

ScenarioRun ReadRun(const Json& json, Reader* reader) {
  ScenarioRun run;
  reader->Text(json, "scenario", &run.scenario);
  reader->Size(json, "repetition", &run.repetition);
  reader->Size(json, "read_in_all_tokens", &run.read_in_all_tokens);
  reader->Number(json, "total_ms", &run.total_ms);
  reader->Text(json, "error", &run.error);
  for (const Json& request : reader->List(json, "requests")) {
    run.requests.push_back(ReadRequest(request, reader));
  }
  return run;
}

ServerFigures ReadServer(const Json& json, Reader* reader) {
  ServerFigures server;
  reader->Text(json, "name", &server.name);
  reader->Text(json, "url", &server.url);
  reader->Text(json, "program", &server.program);
  reader->Text(json, "model", &server.model);
  reader->Text(json, "memory", &server.memory);
  reader->Text(json, "command_line", &server.command_line);
  reader->Size(json, "grid_tokens", &server.grid_tokens);
  for (const Json& run : reader->List(json, "runs")) server.runs.push_back(ReadRun(run, reader));
  return server;
}

}  // namespace

std::string BenchJson(const BenchResult& result) {
  Json json = {
      {"format", kFormat}, {"version", kVersion}, {"scale", result.scale}, {"seed", result.seed}};
  json["servers"] = Json::array();
  for (const ServerFigures& server : result.servers) {
    json["servers"].push_back(ServerJson(result, server));
  }
  return json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

Result<BenchResult> ReadBenchJson(std::string_view text) {
  const Json json = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object() || json.value("format", Json()) != Json(kFormat)) {
    return Fail(ErrorCode::kCorrupt, "it is no result of cairn-lab bench");
  }
  if (json.value("version", Json()) != Json(kVersion)) {
    return Fail(ErrorCode::kCorrupt, "it is in another version's format; run the benchmark again");
  }
  std::string complaint;
  Reader reader(&complaint);
  BenchResult result;
  reader.Number(json, "scale", &result.scale);
  size_t seed = 0;
  reader.Size(json, "seed", &seed);
  result.seed = seed;
  for (const Json& server : reader.List(json, "servers")) {
    result.servers.push_back(ReadServer(server, &reader));
  }
  if (!complaint.empty()) return Fail(ErrorCode::kCorrupt, complaint);
  return result;
}

}  // namespace cairn
