// Workloads: what many clients at once ask of a server, and how long each waits. Each workload is
// played on its own, against any server that speaks POST /v1/chat/completions, streamed.
//
// Every text is new, made from the seed, the workload and the repetition: a server that was played
// with another seed or another repetition knows none of it.

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
  double scale = 1;            // of lengths, but for those that have an option of their own
  double bytes_per_token = 1;  // of made-up text
  int pid = 0;                 // of the server, where it runs on this machine; 0: not known

  size_t clients = 4;                 // speed: at once
  size_t long_tokens = 100'000;       // gaps: of the long prompt
  size_t answers = 2;                 // gaps: that stream
  size_t answer_tokens_max = 60'000;  // gaps: of each; should last until the long prompt is read
  size_t turns = 8;                   // turns: how many
  double pause_ms = 2000;             // turns: between two
  size_t streams = 200;               // streams: clients
  double seconds = 120;               // streams: for so long new ones are begun
};

// All of them, in the order played. Constant.
const std::array<std::string_view, 5>& LoadWorkloads();

// Plays one workload to its end; the calling thread waits. `error` of the run says why it ended
// early, an unknown name among the reasons.
LoadRun PlayLoad(std::string_view workload, const LoadOptions& options);

// The rules (see api/answer/answer_script.h) that make a server give the answers of the workload
// `turns`, reasoning included. To other servers the request says it by a grammar.
std::string TurnsScript(const LoadOptions& options);

}  // namespace cairn

#endif  // CAIRN_LAB_LOAD_LOAD_WORKLOAD_H_
