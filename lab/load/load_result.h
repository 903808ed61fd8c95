// What a load benchmark saw, as data: whoever plays workloads fills it in, whoever reports reads
// it.

#ifndef CAIRN_LAB_LOAD_LOAD_RESULT_H_
#define CAIRN_LAB_LOAD_LOAD_RESULT_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace cairn {

// One turn of the workload `turns`. Tokens are by the server's own tokenizer.
struct LoadTurn {
  size_t message_tokens = 0;  // of the new message alone; 0: the server does not tell
  size_t prompt_tokens = 0;
  size_t read_tokens = 0;  // of the prompt, on the request's own time
  double first_token_ms = 0;
};

// A workload played once.
struct LoadRun {
  std::string workload;
  size_t repetition = 0;
  std::map<std::string, double> figures;               // by the keys of load_figures.h
  std::map<std::string, std::vector<double>> samples;  // likewise: what a figure was made of
  std::vector<LoadTurn> turns;
  // Requests that were not answered as they should, by what happened. 503 with Retry-After is no
  // such thing: that is counted among the figures.
  std::map<std::string, size_t> faults;
  std::map<std::string, std::string> fault_details;  // what the first of each kind was told
  std::string error;  // empty, or why the workload ended early: then its figures count for nothing
};

// A server and what was played on it.
struct LoadServer {
  std::string name;     // "cairn"
  std::string program;  // what it says of itself: "cairn 0.1.0"; may be empty
  std::string model;
  std::string command_line;  // how it was started, if whoever played knew
  std::vector<LoadRun> runs;
};

struct LoadResult {
  double scale = 1;
  uint64_t seed = 1;
  std::vector<LoadServer> servers;  // ratios are the first over each other
};

}  // namespace cairn

#endif  // CAIRN_LAB_LOAD_LOAD_RESULT_H_
