// Workloads: the requests of many concurrent clients, with the time that each waits. Each workload
// is played on its own, against any server with POST /v1/chat/completions and streaming.
//
// Every text is new, made from the seed, the workload and the repetition, so a server has no prefix
// of it cached from a run with another seed or repetition.

#ifndef CAIRN_LAB_LOAD_LOAD_WORKLOAD_H_
#define CAIRN_LAB_LOAD_LOAD_WORKLOAD_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/result.h"
#include "http/http_client.h"
#include "lab/bench/bench_result.h"

namespace cairn {

struct LoadOptions {
  std::string url;
  const Clock* clock = nullptr;  // outlives the call; thread-safe
  HttpClientOptions http;        // of every client
  uint64_t seed = 1;
  size_t repetition = 0;
  double scale = 1;            // factor on the lengths that have no option of their own
  double bytes_per_token = 1;  // of made-up text
  int pid = 0;                 // of the server, if it runs on this machine; 0: not known

  size_t clients = 4;                 // speed: concurrent clients
  size_t crowd_max = 32;              // crowds: the most concurrent clients
  size_t long_tokens = 100'000;       // gaps: of the long prompt
  size_t answers = 2;                 // gaps: that stream
  size_t answer_tokens_max = 60'000;  // gaps: of each answer; should outlast the long prefill
  size_t turns = 8;                   // turns: number of turns
  double pause_ms = 2000;             // turns: between two turns
  size_t streams = 200;               // streams: concurrent clients
  double seconds = 120;               // streams: new requests are started for this long
};

// Returns all workloads, in the order played. Constant.
const std::array<std::string_view, 6>& LoadWorkloads();

// Plays one workload to its end on the calling thread. `error` of the run says why it ended early;
// an unknown name is one reason.
LoadRun PlayLoad(std::string_view workload, const LoadOptions& options);

// Returns the rules (see api/service/answer_script.h) that make a server give the answers of the
// workload `turns`, reasoning included. For other servers the request has an equivalent grammar.
std::string TurnsScript(const LoadOptions& options);

}  // namespace cairn

#endif  // CAIRN_LAB_LOAD_LOAD_WORKLOAD_H_
