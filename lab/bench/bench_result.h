// The measurements of a benchmark, as data: `cairn-lab bench` fills in runs of scenarios and
// `cairn-lab bench load` runs of workloads; bench_json.h writes both.

#ifndef CAIRN_LAB_BENCH_BENCH_RESULT_H_
#define CAIRN_LAB_BENCH_BENCH_RESULT_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace cairn {

// One request of a scenario. All token counts are by the server's own tokenizer.
struct RequestFigures {
  std::string what;  // in a few words, for people: "turn 3", "the title"
  size_t prompt_tokens = 0;
  size_t answer_tokens = 0;
  size_t read_tokens = 0;  // of the prompt, while the client waited
  // The prompt without its longest beginning that an earlier prompt or answer of the same scenario
  // has, but at least its last token: no server can read fewer without knowing other scenarios.
  size_t lower_bound_tokens = 0;
  double first_token_ms = 0;  // by the client's clock, from sending to the first text
  double total_ms = 0;
  double answer_ms = 0;    // from the first text to the end
  bool cancelled = false;  // the client went away on purpose; counts but no times
};

// A scenario played once.
struct ScenarioRun {
  std::string scenario;  // its name as --scenario takes it
  size_t repetition = 0;
  std::vector<RequestFigures> requests;  // in the order sent
  // What the server says that it read in all, other work (warming ahead) included.
  size_t read_in_all_tokens = 0;
  double total_ms = 0;
  std::string error;  // empty, or why the scenario ended early: then its figures count for nothing
};

// One turn of the workload `turns`. Tokens are by the server's own tokenizer.
struct LoadTurn {
  size_t message_tokens = 0;  // of the new message alone; 0: the server does not tell
  size_t prompt_tokens = 0;
  size_t read_tokens = 0;  // of the prompt, on the request's own time
  double first_token_ms = 0;
};

// A workload played once.
struct LoadRun {
  std::string workload;  // its name as --workload takes it
  size_t repetition = 0;
  // By key. lab/report/load_figures.py has the title of each, and fails on a key that it lacks.
  std::map<std::string, double> figures;
  std::map<std::string, std::vector<double>> samples;  // likewise: the values behind a figure
  std::vector<LoadTurn> turns;
  // Requests that were not answered as they should, by what happened. 503 with Retry-After is no
  // such thing: that is counted among the figures.
  std::map<std::string, size_t> faults;
  std::map<std::string, std::string> fault_details;  // what the first of each kind was told
  std::string error;  // empty, or why the workload ended early: then its figures count for nothing
};

// A server and what was played on it.
struct ServerFigures {
  std::string name;     // for people, unique in a result: "cairn", "llama-server --swa-full"
  std::string url;      // where it was
  std::string program;  // with its version, as the server says it
  std::string model;
  std::string memory;        // the model's memory class: "hybrid", …; empty: nobody says
  std::string command_line;  // how it was started; empty: nobody says
  size_t grid_tokens = 0;    // cuts are on multiples of it; 0: the server does not tell
  std::vector<ScenarioRun> runs;
  std::vector<LoadRun> load_runs;
};

struct BenchResult {
  double scale = 1;  // of all lengths
  uint64_t seed = 0;
  std::vector<ServerFigures> servers;  // pairs are (servers[0], servers[i])
};

}  // namespace cairn

#endif  // CAIRN_LAB_BENCH_BENCH_RESULT_H_
