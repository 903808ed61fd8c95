// Simulator: a trace served by the scheduler, the cache and the policies that serve, on a model of
// which only sizes and speeds are real (lab/sim/sized_engine.h). What it counts is what a server
// with these flags would count; only times are a model's.
//
//   Trace ─> Interleave ─> Scheduler ─> Restorer ─> CheckpointCache      the code that serves
//                              └──────> SizedEngine ─> ManualClock        what is played
//
// Requests are served one after the other, in the order in which they came. Where a trace holds
// answers, they are generated, so that the next turn can go on from them as on a server. Where it
// does not, none is: what an answer's state would save is not counted.
//
// Threads: one.

#ifndef CAIRN_LAB_SIM_SIMULATOR_H_
#define CAIRN_LAB_SIM_SIMULATOR_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/result.h"
#include "cache/checkpoint_cache.h"
#include "cache/resume.h"
#include "lab/sim/model_profile.h"
#include "lab/sim/oracle.h"
#include "lab/sim/sized_disk.h"
#include "lab/sim/trace.h"

namespace cairn {

struct SimOptions {
  ModelProfile profile;
  std::string placement = "auto";
  PlacementOptions intervals;
  std::string eviction = "value";
  CacheOptions cache;
  SizedDiskOptions disk;
  ReuseMode reuse = ReuseMode::kLive;
  size_t slots = 4;
  // Tokens that the slots hold together; 0: what the longest request needs.
  size_t context_tokens = 0;
  size_t chunk_tokens_max = 512;
  // Keep the state and the logits of every prompt's end, as the server does.
  bool keep_ends = true;
  // Save what the slots lose, as it does.
  bool offload = true;
  // Generate the answers that the trace holds.
  bool answers = true;
  // Checkpoints of these classes are not taken, whatever the placement says: what is a class worth?
  std::vector<CheckpointClass> without = {};
};

struct SimReport {
  uint64_t requests = 0;
  uint64_t refused = 0;  // too long for the context
  uint64_t prompt_tokens = 0;
  uint64_t reused_tokens = 0;
  // In common with any prompt before, or the answer to it: no cache reuses more.
  uint64_t shared_tokens = 0;
  uint64_t checkpoints_taken = 0;
  uint64_t checkpoints_evicted = 0;  // segments among them
  uint64_t restored = 0;             // to a snapshot, alone or with segments
  uint64_t forked = 0;
  uint64_t offloaded = 0;
  uint64_t taken_bytes = 0;
  uint64_t restored_bytes = 0;
  size_t held_bytes_max = 0;
  // Of the disk, where there is one.
  uint64_t disk_written_bytes = 0;
  uint64_t disk_read_bytes = 0;
  uint64_t disk_evicted = 0;
  std::vector<double> wait_ms;      // of each request, until its prompt was read
  std::vector<size_t> reused_each;  // of each request that was not refused, in their order
  // What the server that wrote the trace said of the same requests, as far as it did.
  uint64_t served_requests = 0;
  uint64_t served_reused_tokens = 0;

  uint64_t read_tokens() const { return prompt_tokens - reused_tokens; }
  double token_hit_rate() const;
  double best_hit_rate() const;
  // Checkpoints for each 10,000 tokens of prompts; and of those that were read.
  double checkpoints_per_10k_prompt() const;
  double checkpoints_per_10k_read() const;
};

// `on_progress` hears of steps done; may be empty. kInvalidArgument: no such policy.
Result<SimReport> Simulate(const std::vector<TraceStep>& steps, size_t block_tokens,
                           const SimOptions& options,
                           const std::function<void(size_t done)>& on_progress = {});

// Tokens that the slots hold together: what `options` say, or what the longest request needs.
size_t ContextTokens(const std::vector<TraceStep>& steps, const SimOptions& options);
// Bytes that they hold at most, beside the cache.
double LiveBytesMax(const std::vector<TraceStep>& steps, const SimOptions& options);

// What the oracle must know for a bound on what Simulate saves with these options.
OracleInput OracleInputFor(const std::vector<TraceStep>& steps, const SimOptions& options);

}  // namespace cairn

#endif  // CAIRN_LAB_SIM_SIMULATOR_H_
