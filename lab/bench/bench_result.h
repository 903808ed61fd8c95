// The measurements of a benchmark, as data: `cairn-lab bench` fills in runs of scenarios and
// `cairn-lab bench load` runs of workloads; bench_report.h writes both.

#ifndef CAIRN_LAB_BENCH_BENCH_RESULT_H_
#define CAIRN_LAB_BENCH_BENCH_RESULT_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace cairn {

// The figures of one request of a scenario. Token counts are by the server's own tokenizer.
struct RequestFigures {
  std::string what;  // in a few words, for people: "turn 3", "the title"
  size_t prompt_tokens = 0;
  size_t answer_tokens = 0;
  size_t read_tokens = 0;  // of the prompt, prefilled while the client waited
  // The lower bound: the prompt after its longest prefix that an earlier prompt or answer of the
  // scenario has, at least the last token. No server that knows only the scenario can prefill less.
  size_t lower_bound_tokens = 0;
  double first_token_ms = 0;  // by the client's clock, from sending to the first text
  double total_ms = 0;
  double answer_ms = 0;    // from the first text to the end
  bool cancelled = false;  // the client closed the connection on purpose; counts, but no times
  std::string answer;      // its text, after its reasoning
};

// One run of a scenario.
struct ScenarioRun {
  std::string scenario;  // its name as --scenario takes it
  size_t repetition = 0;
  std::vector<RequestFigures> requests;  // in the order sent
  // Prompt tokens that the server prefilled during the run by its own count, prefetches included.
  size_t read_in_all_tokens = 0;
  double total_ms = 0;
  std::string error;  // empty, or why the scenario ended early; its figures are then invalid
};

// One turn of the workload `turns`. Tokens are by the server's own tokenizer.
struct LoadTurn {
  size_t message_tokens = 0;  // of the new message alone; 0: the server does not report it
  size_t prompt_tokens = 0;
  size_t read_tokens = 0;  // of the prompt, prefilled for this request
  double first_token_ms = 0;
};

// One run of a workload.
struct LoadRun {
  std::string workload;  // its name as --workload takes it
  size_t repetition = 0;
  // By key. lab/report/load_figures.py has the title of each, and fails on a key that it lacks.
  std::map<std::string, double> figures;
  std::map<std::string, std::vector<double>> samples;  // likewise: the values behind a figure
  std::vector<LoadTurn> turns;
  // The number of requests that were not answered correctly, by kind of fault. 503 with Retry-After
  // is not a fault; it is counted in `figures`.
  std::map<std::string, size_t> faults;
  std::map<std::string, std::string> fault_details;  // by kind, the server's first message
  std::string error;  // empty, or why the workload ended early; its figures are then invalid
};

// A server and the runs on it.
struct ServerFigures {
  std::string name;     // for people, unique in a result: "cairn", "llama-server --swa-full"
  std::string url;      // its address during the runs
  std::string program;  // with its version, as the server reports it
  std::string model;
  std::string architecture;  // the model's: "qwen35", …; empty: not known
  std::string memory;        // the model's memory class: "hybrid", …; empty: not known
  std::string command_line;  // how it was started; empty: not known
  size_t grid_tokens = 0;    // cuts are on multiples of it; 0: the server does not report it
  std::vector<ScenarioRun> runs;
  std::vector<LoadRun> load_runs;
};

struct BenchResult {
  double scale = 1;  // factor on all lengths
  uint64_t seed = 0;
  std::vector<ServerFigures> servers;  // pairs are (servers[0], servers[i])
};

// Order statistics of a list of values. Pure.

// Returns the value below which `share` (0 to 1) of the values lie, interpolated linearly between
// its two neighbours; 0 if there are no values.
double Percentile(std::vector<double> values, double share);

}  // namespace cairn

#endif  // CAIRN_LAB_BENCH_BENCH_RESULT_H_
