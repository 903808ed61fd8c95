#include "lab/bench/bench_summary.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"

namespace cairn {
namespace {

constexpr double kAllowedRatio = 1.02;

double Over(size_t part, size_t whole) {
  return whole == 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole);
}

void AddRun(const RunTokens& run, RunTokens* sum) {
  sum->requests += run.requests;
  sum->sent += run.sent;
  sum->read += run.read;
  sum->lower_bound += run.lower_bound;
  sum->read_in_all += run.read_in_all;
}

// "models/a.gguf" and "a.gguf" are one model.
std::string FileName(const std::string& path) {
  return path.substr(path.rfind('/') + 1);
}

template <typename Kind, typename Is>
Kind& FindOrAdd(std::vector<Kind>* all, Kind fresh, const Is& is) {
  const auto found = std::find_if(all->begin(), all->end(), is);
  if (found != all->end()) return *found;
  return all->emplace_back(std::move(fresh));
}

// Repetitions of `more` come behind those that `server` has.
void AddRuns(const ServerFigures& more, ServerFigures* server) {
  size_t first = 0;
  for (const ScenarioRun& run : server->runs) first = std::max(first, run.repetition + 1);
  for (const ScenarioRun& run : more.runs) {
    server->runs.push_back(run);
    server->runs.back().repetition += first;
  }
}

void MergeServer(const BenchResult& of, const ServerFigures& server,
                 std::vector<BenchResult>* merged) {
  BenchResult fresh{of.scale, of.seed, {}};
  const std::string model = FileName(server.model);
  BenchResult& result = FindOrAdd(merged, fresh, [&](const BenchResult& known) {
    return FileName(known.servers.front().model) == model;
  });
  ServerFigures empty = server;
  empty.runs.clear();
  ServerFigures& figures = FindOrAdd(&result.servers, empty, [&](const ServerFigures& known) {
    return known.name == server.name;
  });
  AddRuns(server, &figures);
}

// Not every server tells the memory class of the model that all of them have.
void ShareMemory(BenchResult* result) {
  std::string memory;
  for (const ServerFigures& server : result->servers) {
    if (memory.empty()) memory = server.memory;
  }
  for (ServerFigures& server : result->servers) server.memory = memory;
}

}  // namespace

double Percentile(std::vector<double> values, double share) {
  CHECK(share >= 0 && share <= 1);
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  const double rank = share * static_cast<double>(values.size() - 1);
  const auto below = static_cast<size_t>(rank);
  const size_t above = std::min(below + 1, values.size() - 1);
  return values[below] + ((rank - std::floor(rank)) * (values[above] - values[below]));
}

double GeometricMean(const std::vector<double>& values) {
  if (values.empty()) return 0;
  double sum = 0;
  for (const double value : values) {
    CHECK(value > 0);
    sum += std::log(value);
  }
  return std::exp(sum / static_cast<double>(values.size()));
}

double AllowedTokens(size_t lower_bound_tokens, size_t requests, size_t grid_tokens) {
  return (kAllowedRatio * static_cast<double>(lower_bound_tokens)) +
         static_cast<double>(requests * grid_tokens);
}

double RunTokens::ReadRatio() const {
  return Over(read, lower_bound);
}

double RunTokens::ReadInAllRatio() const {
  return Over(read_in_all, lower_bound);
}

RunTokens CountTokens(const ScenarioRun& run) {
  RunTokens tokens;
  tokens.requests = run.requests.size();
  tokens.read_in_all = run.read_in_all_tokens;
  bool known = true;
  for (const RequestFigures& request : run.requests) {
    tokens.sent += request.prompt_tokens;
    tokens.read += request.read_tokens;
    tokens.lower_bound += request.lower_bound_tokens;
    known = known && request.lower_bound_tokens > 0;
  }
  if (!known) tokens.lower_bound = 0;
  return tokens;
}

ScenarioSummary Summarize(const ServerFigures& server, const std::string& scenario) {
  ScenarioSummary summary;
  summary.scenario = scenario;
  std::vector<double> first_token_ms;
  size_t answered = 0;
  double answer_ms = 0;
  bool known = true;
  for (const ScenarioRun* run : GoodRuns(server, scenario)) {
    ++summary.runs;
    const RunTokens tokens = CountTokens(*run);
    known = known && tokens.lower_bound > 0;
    AddRun(tokens, &summary.tokens);
    for (const RequestFigures& request : run->requests) {
      if (request.cancelled || request.first_token_ms <= 0) continue;
      first_token_ms.push_back(request.first_token_ms);
      if (request.answer_tokens < 2 || request.answer_ms <= 0) continue;
      answered += request.answer_tokens - 1;  // the time begins with the first
      answer_ms += request.answer_ms;
    }
  }
  for (const ScenarioRun& run : server.runs) {
    if (run.scenario == scenario && !run.error.empty()) summary.errors.push_back(run.error);
  }
  if (!known) summary.tokens.lower_bound = 0;
  if (summary.tokens.lower_bound > 0) {
    summary.allowed_tokens =
        AllowedTokens(summary.tokens.lower_bound, summary.tokens.requests, server.grid_tokens);
  }
  summary.first_token_median_ms = Percentile(first_token_ms, 0.5);
  summary.first_token_p90_ms = Percentile(first_token_ms, 0.9);
  summary.first_token_p99_ms = Percentile(first_token_ms, 0.99);
  if (answer_ms > 0) summary.tokens_per_second = static_cast<double>(answered) * 1000 / answer_ms;
  return summary;
}

PairSummary Compare(const ServerFigures& ours, const ServerFigures& theirs,
                    const std::string& scenario) {
  PairSummary summary;
  summary.scenario = scenario;
  std::vector<double> ratios;
  for (const ScenarioRun* run : GoodRuns(ours, scenario)) {
    const ScenarioRun* const other = FindPartner(*run, theirs);
    if (other == nullptr) continue;
    const size_t count = std::min(run->requests.size(), other->requests.size());
    for (size_t i = 0; i < count; ++i) {
      const RequestFigures& mine = run->requests[i];
      const RequestFigures& their = other->requests[i];
      if (mine.cancelled || their.cancelled) continue;
      if (mine.first_token_ms <= 0 || their.first_token_ms <= 0) continue;
      ratios.push_back(mine.first_token_ms / their.first_token_ms);
      summary.pairs.push_back({mine.what, run->repetition, ratios.back()});
    }
  }
  summary.first_token_ratio = GeometricMean(ratios);
  return summary;
}

const ScenarioRun* FindPartner(const ScenarioRun& run, const ServerFigures& server) {
  for (const ScenarioRun* other : GoodRuns(server, run.scenario)) {
    if (other->repetition == run.repetition) return other;
  }
  return nullptr;
}

std::vector<std::string> ScenarioNames(const BenchResult& result) {
  std::vector<std::string> names;
  for (const ServerFigures& server : result.servers) {
    for (const ScenarioRun& run : server.runs) {
      if (std::find(names.begin(), names.end(), run.scenario) == names.end()) {
        names.push_back(run.scenario);
      }
    }
  }
  return names;
}

std::vector<const ScenarioRun*> GoodRuns(const ServerFigures& server, const std::string& scenario) {
  std::vector<const ScenarioRun*> runs;
  for (const ScenarioRun& run : server.runs) {
    if (run.scenario == scenario && run.error.empty()) runs.push_back(&run);
  }
  return runs;
}

std::vector<BenchResult> MergeResults(const std::vector<BenchResult>& results) {
  std::vector<BenchResult> merged;
  for (const BenchResult& result : results) {
    for (const ServerFigures& server : result.servers) MergeServer(result, server, &merged);
  }
  for (BenchResult& result : merged) ShareMemory(&result);
  return merged;
}

std::string ResultTitle(const BenchResult& result) {
  if (result.servers.empty()) return "nothing";
  const ServerFigures& server = result.servers.front();
  std::string model = FileName(server.model);
  if (model.ends_with(".gguf")) model.resize(model.size() - 5);
  return server.memory.empty() ? model : server.memory + ": " + model;
}

}  // namespace cairn
