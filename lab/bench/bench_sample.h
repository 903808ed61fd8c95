// A benchmark result for tests: two scenarios on two servers, twice, and four workloads once, with
// failures.

#ifndef CAIRN_LAB_BENCH_BENCH_SAMPLE_H_
#define CAIRN_LAB_BENCH_BENCH_SAMPLE_H_

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "lab/bench/bench_result.h"

namespace cairn::test {

inline RequestFigures SampleRequest(const std::string& what, size_t prompt, size_t read,
                                    size_t lower_bound, double first_token_ms) {
  RequestFigures request;
  request.what = what;
  request.prompt_tokens = prompt;
  request.answer_tokens = 17;
  request.answer = "A heap of stones, " + what + ".";
  request.read_tokens = read;
  request.lower_bound_tokens = lower_bound;
  request.first_token_ms = first_token_ms;
  request.answer_ms = 160;
  request.total_ms = first_token_ms + request.answer_ms;
  return request;
}

// `factor`: prefilled tokens of the later turns as a multiple of their lower bound.
inline ScenarioRun SampleRun(const std::string& scenario, size_t repetition, double factor) {
  ScenarioRun run;
  run.scenario = scenario;
  run.repetition = repetition;
  const double noise = 1 + (0.1 * static_cast<double>(repetition));
  run.requests.push_back(SampleRequest("turn 1", 5000, 5000, 5000, 1250 * noise));
  for (size_t turn = 2; turn <= 4; ++turn) {
    const auto read = static_cast<size_t>(200 * factor);
    run.requests.push_back(SampleRequest("turn " + std::to_string(turn), 4800 + (200 * turn), read,
                                         200, 0.25 * static_cast<double>(read) * noise));
  }
  for (const RequestFigures& request : run.requests) {
    run.read_in_all_tokens += request.read_tokens;
    run.total_ms += request.total_ms;
  }
  return run;
}

inline LoadRun SampleLoadRun(const std::string& workload, std::map<std::string, double> figures) {
  LoadRun run;
  run.workload = workload;
  run.figures = std::move(figures);
  return run;
}

// `slow`: times as a multiple of the fastest server's.
inline std::vector<LoadRun> SampleLoadRuns(double slow) {
  std::vector<LoadRun> runs = {
      SampleLoadRun("speed", {{"prompt_1", 2000 / slow}, {"answer_1", 800 / slow}, {"clients", 4}}),
      SampleLoadRun("gaps", {{"before_p50_ms", 1.5},
                             {"before_p99_ms", 2.5},
                             {"during_p50_ms", 2 * slow},
                             {"during_p99_ms", 3 * slow},
                             {"p99_over_p50", 2 * slow}}),
      SampleLoadRun("turns", {{"read_tokens", 100 * slow}, {"first_token_p50_ms", 50 * slow}}),
      SampleLoadRun("streams", {{"whole", 1200}, {"broken", 0}, {"memory_peak_mib", 150.4}})};
  runs[2].turns = {{200, 2300, 2300, 1000 * slow}, {200, 2600, 260, 50 * slow}};
  runs[2].samples["first_token"] = {1000 * slow, 50 * slow};
  return runs;
}

inline ServerFigures SampleServer(const std::string& name, double factor) {
  ServerFigures server;
  server.name = name;
  server.url = "http://127.0.0.1:8080";
  server.program = name + " 1.0";
  server.model = "models/qwen35.gguf";
  server.command_line = name + " -m models/qwen35.gguf -c 16384";
  for (size_t repetition = 0; repetition < 2; ++repetition) {
    server.runs.push_back(SampleRun("chat", repetition, factor));
    server.runs.push_back(SampleRun("edit-early", repetition, 1.5 * factor));
  }
  server.load_runs = SampleLoadRuns(factor);
  return server;
}

inline BenchResult SampleBench() {
  BenchResult result;
  result.scale = 0.5;
  result.seed = 7;
  result.servers = {SampleServer("cairn", 1), SampleServer("llama-server", 12)};
  ServerFigures& ours = result.servers[0];
  ours.architecture = "qwen35";
  ours.memory = "hybrid";
  ours.grid_tokens = 64;
  for (ScenarioRun& run : ours.runs) run.read_in_all_tokens += 300;
  result.servers[1].runs[0].requests[2].answer = "A heap of rocks.";
  // One client cancels in the middle of a request, and one run ends early.
  for (ServerFigures& server : result.servers) {
    server.runs[1].requests[3].cancelled = true;
    server.runs[1].requests[3].first_token_ms = 0;
  }
  result.servers[1].runs[3].error = "turn 2: the server answered 500: <out of memory> & more";
  LoadRun& streams = result.servers[1].load_runs[3];
  streams.faults["status 500"] = 1234;
  streams.fault_details["status 500"] = "out of \"memory\"";
  return result;
}

}  // namespace cairn::test

#endif  // CAIRN_LAB_BENCH_BENCH_SAMPLE_H_
