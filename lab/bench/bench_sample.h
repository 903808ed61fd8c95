// A result of a benchmark for tests: two scenarios on two servers, twice, with what goes wrong.

#ifndef CAIRN_LAB_BENCH_BENCH_SAMPLE_H_
#define CAIRN_LAB_BENCH_BENCH_SAMPLE_H_

#include <string>
#include <vector>

#include "lab/bench/bench_result.h"

namespace cairn::test {

inline RequestFigures SampleRequest(const std::string& what, size_t prompt, size_t read,
                                    size_t lower_bound, double first_token_ms) {
  RequestFigures request;
  request.what = what;
  request.prompt_tokens = prompt;
  request.answer_tokens = 17;
  request.read_tokens = read;
  request.lower_bound_tokens = lower_bound;
  request.first_token_ms = first_token_ms;
  request.answer_ms = 160;
  request.total_ms = first_token_ms + request.answer_ms;
  return request;
}

// `reread`: how many times the lower bound of a later turn is read.
inline ScenarioRun SampleRun(const std::string& scenario, size_t repetition, double reread) {
  ScenarioRun run;
  run.scenario = scenario;
  run.repetition = repetition;
  const double noise = 1 + (0.1 * static_cast<double>(repetition));
  run.requests.push_back(SampleRequest("turn 1", 5000, 5000, 5000, 1250 * noise));
  for (size_t turn = 2; turn <= 4; ++turn) {
    const auto read = static_cast<size_t>(200 * reread);
    run.requests.push_back(SampleRequest("turn " + std::to_string(turn), 4800 + (200 * turn), read,
                                         200, 0.25 * static_cast<double>(read) * noise));
  }
  for (const RequestFigures& request : run.requests) {
    run.read_in_all_tokens += request.read_tokens;
    run.total_ms += request.total_ms;
  }
  return run;
}

inline ServerFigures SampleServer(const std::string& name, double reread) {
  ServerFigures server;
  server.name = name;
  server.url = "http://127.0.0.1:8080";
  server.program = name + " 1.0";
  server.model = "models/qwen35.gguf";
  server.command_line = name + " -m models/qwen35.gguf -c 16384";
  for (size_t repetition = 0; repetition < 2; ++repetition) {
    server.runs.push_back(SampleRun("chat", repetition, reread));
    server.runs.push_back(SampleRun("edit-early", repetition, 1.5 * reread));
  }
  return server;
}

inline BenchResult SampleBench() {
  BenchResult result;
  result.scale = 0.5;
  result.seed = 7;
  result.servers = {SampleServer("cairn", 1), SampleServer("llama-server", 12)};
  ServerFigures& ours = result.servers[0];
  ours.memory = "hybrid";
  ours.grid_tokens = 64;
  for (ScenarioRun& run : ours.runs) run.read_in_all_tokens += 300;
  // The client goes away in the middle of a request, and one run breaks off.
  for (ServerFigures& server : result.servers) {
    server.runs[1].requests[3].cancelled = true;
    server.runs[1].requests[3].first_token_ms = 0;
  }
  result.servers[1].runs[3].error = "turn 2: the server answered 500: <out of memory> & more";
  return result;
}

}  // namespace cairn::test

#endif  // CAIRN_LAB_BENCH_BENCH_SAMPLE_H_
