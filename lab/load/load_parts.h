// What the workloads have in common: texts, threads, and what becomes of replies. Not for others.

#ifndef CAIRN_LAB_LOAD_LOAD_PARTS_H_
#define CAIRN_LAB_LOAD_LOAD_PARTS_H_

#include <cstddef>
#include <functional>
#include <mutex>
#include <string>
#include <vector>

#include "lab/bench/bench_result.h"
#include "lab/load/load_client.h"
#include "lab/load/load_stats.h"
#include "lab/load/load_workload.h"

namespace cairn::load {

// The workloads, each in a file of its own. `client` is thread-safe.
void PlaySpeed(const LoadOptions& options, const LoadClient& client, LoadRun* run);
void PlayMixed(const LoadOptions& options, const LoadClient& client, LoadRun* run);
void PlayGaps(const LoadOptions& options, const LoadClient& client, LoadRun* run);
void PlayTurns(const LoadOptions& options, const LoadClient& client, LoadRun* run);
void PlayStreams(const LoadOptions& options, const LoadClient& client, LoadRun* run);

// `tokens` times the scale, but at least `least`.
size_t Scaled(const LoadOptions& options, size_t tokens, size_t least);

// New text of about so many tokens. `name` is unique within the workload.
std::string NewText(const LoadOptions& options, const std::string& name, size_t tokens);

// One question for an answer of exactly so many tokens.
LoadAsk AskFor(std::vector<ChatMessage> messages, size_t answer_tokens);

// Calls `play` with 0 to `count` - 1, each on a thread of its own, and waits for all.
void AtOnce(size_t count, const std::function<void(size_t index)>& play);

// Takes note of what is not as it should be. Thread-safe.
class Faults {
 public:
  explicit Faults(LoadRun* run) : run_(run) {}
  // Whether the reply can be counted on: whole, or given up on purpose.
  bool Accept(const LoadReply& reply);

 private:
  LoadRun* const run_;
  std::mutex mutex_;
};

// Waits; not at all for a time that is past.
void SleepMs(double ms);

// Puts median and 99th percentile in milliseconds at "KEY_p50_ms" and "KEY_p99_ms", and the values
// themselves at the samples' KEY. Nothing where there are none.
void PutTimes(const std::string& key, const std::vector<double>& values, LoadRun* run);

}  // namespace cairn::load

#endif  // CAIRN_LAB_LOAD_LOAD_PARTS_H_
