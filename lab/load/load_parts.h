// Parts shared by the workloads: texts, threads, and the counting of faults. Private to them.

#ifndef CAIRN_LAB_LOAD_LOAD_PARTS_H_
#define CAIRN_LAB_LOAD_LOAD_PARTS_H_

#include <cstddef>
#include <functional>
#include <mutex>
#include <string>
#include <vector>

#include "lab/bench/bench_result.h"
#include "lab/load/load_client.h"
#include "lab/load/load_workload.h"

namespace cairn::load {

// The workloads, each in a file of its own. `client` is thread-safe.
void PlaySpeed(const LoadOptions& options, const LoadClient& client, LoadRun* run);
void PlayCrowds(const LoadOptions& options, const LoadClient& client, LoadRun* run);
void PlayMixed(const LoadOptions& options, const LoadClient& client, LoadRun* run);
void PlayGaps(const LoadOptions& options, const LoadClient& client, LoadRun* run);
void PlayTurns(const LoadOptions& options, const LoadClient& client, LoadRun* run);
void PlayStreams(const LoadOptions& options, const LoadClient& client, LoadRun* run);

// Returns `tokens` times the scale, but at least `least`.
size_t Scaled(const LoadOptions& options, size_t tokens, size_t least);

// Returns a new text of about `tokens` tokens. `name` is unique within the workload.
std::string NewText(const LoadOptions& options, const std::string& name, size_t tokens);

// Returns a request for an answer of exactly `answer_tokens` tokens.
LoadAsk AskFor(std::vector<ChatMessage> messages, size_t answer_tokens);

// Calls `play` with 0 to `count` - 1, each on a thread of its own, and waits for all.
void AtOnce(size_t count, const std::function<void(size_t index)>& play);

// Sends all requests at the same moment, each on a thread of its own. Returns the replies in order.
std::vector<LoadReply> AskAtOnce(const LoadClient& client, const std::vector<LoadAsk>& asks);

// Faults: counts replies that are not as they should be. Thread-safe.
class Faults {
 public:
  explicit Faults(LoadRun* run) : run_(run) {}
  // Returns whether the reply counts: complete, or cancelled on purpose. Records a fault otherwise.
  bool Accept(const LoadReply& reply);

 private:
  LoadRun* const run_;
  std::mutex mutex_;
};

// Sleeps; returns at once if `ms` is not positive.
void SleepMs(double ms);

// Writes the median and the 99th percentile in milliseconds to the figures "KEY_p50_ms" and
// "KEY_p99_ms", and the values to the samples at KEY. Does nothing if there are no values.
void PutTimes(const std::string& key, const std::vector<double>& values, LoadRun* run);

}  // namespace cairn::load

#endif  // CAIRN_LAB_LOAD_LOAD_PARTS_H_
