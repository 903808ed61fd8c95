// Simulator: replays a trace through the server's own scheduler, cache and policies, on a model of
// which only sizes and speeds are real (lab/sim/sized_engine.h). Its counts are those of a server
// with the same flags; only its times are estimates.
//
//   Trace ─> Interleave ─> Scheduler ─> Restorer ─> CheckpointCache      the server's code
//                              └──────> SizedEngine ─> ManualClock       simulated
//
// Requests are served one after the other, in order of arrival. Answers that the trace holds are
// generated, so that the next turn can resume from them as on a server. Other answers are not, and
// the savings from their state are not counted.
//
// Threads: one.

#ifndef CAIRN_LAB_SIM_SIMULATOR_H_
#define CAIRN_LAB_SIM_SIMULATOR_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "base/tokens.h"
#include "cache/checkpoint_cache.h"
#include "cache/resume.h"
#include "lab/sim/oracle.h"
#include "lab/sim/sized_engine.h"
#include "lab/sim/sized_store.h"
#include "lab/sim/trace.h"
#include "sched/scheduler.h"

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
  // Tokens that the slots hold together; 0: the tokens of the longest request.
  size_t context_tokens = 0;
  size_t chunk_tokens_max = 512;
  // Keeps the state and the logits of every prompt's end, as the server does.
  bool keep_ends = true;
  // Offloads the state that slots lose, as the server does.
  bool offload = true;
  // Generates the answers that the trace holds.
  bool answers = true;
  // Checkpoints of these classes are never taken, which shows what a class is worth.
  std::vector<CheckpointClass> without = {};
};

struct SimReport {
  uint64_t requests = 0;
  uint64_t refused = 0;  // too long for the context
  uint64_t prompt_tokens = 0;
  uint64_t reused_tokens = 0;
  // Shared with any earlier prompt or its answer: no cache reuses more.
  uint64_t shared_tokens = 0;
  uint64_t checkpoints_taken = 0;
  uint64_t checkpoints_evicted = 0;  // segments included
  uint64_t restored = 0;             // resumes from a snapshot, alone or with segments
  uint64_t forked = 0;
  uint64_t offloaded = 0;
  uint64_t taken_bytes = 0;
  uint64_t restored_bytes = 0;
  size_t held_bytes_max = 0;
  // Figures of the disk, if there is one.
  uint64_t disk_written_bytes = 0;
  uint64_t disk_read_bytes = 0;
  uint64_t disk_evicted = 0;
  std::vector<double> wait_ms;      // of each request, until its prompt was prefilled
  std::vector<size_t> reused_each;  // of each request that was not refused, in order
  // Reuse as reported by the server that wrote the trace, for the requests where it did.
  uint64_t served_requests = 0;
  uint64_t served_reused_tokens = 0;

  uint64_t read_tokens() const { return prompt_tokens - reused_tokens; }
  double token_hit_rate() const;
  double best_hit_rate() const;
  // Checkpoints per 10,000 prompt tokens, and per 10,000 prefilled tokens.
  double checkpoints_per_10k_prompt() const;
  double checkpoints_per_10k_read() const;
};

// SimServer: one simulated server, which serves one request after the other.
class SimServer {
 public:
  struct Served {
    bool refused = false;  // too long for the context
    double began_ms = 0;   // when the requests before it were served
    double done_ms = 0;  // when its prompt was prefilled and the answer that the trace has decoded
    size_t reused_tokens = 0;
  };

  // `first_lineage`: runs are numbered from there on, so that the states of several servers can be
  // told apart. kInvalidArgument: no such policy.
  static Result<std::unique_ptr<SimServer>> Make(const SimOptions& options, size_t context_tokens,
                                                 LineageId first_lineage = 0);

  // Serves a request that arrived at `at_ms`. `prompt` and `answer`: the tokens of `asked`.
  Served Serve(const TraceRequest& asked, double at_ms, Tokens prompt, Tokens answer);

  // Copies unused slots to the cache and saves them, as a server does that has nothing to do at
  // `now_ms`. Does nothing if it is busy then.
  void SaveUnused(double now_ms);

  // Returns how far along the prompt slots and cache reach without prefill, whether or not moving
  // the bytes pays.
  size_t ReachOf(TokenSpan prompt);

  const SimOptions& options() const { return options_; }
  CheckpointCache& cache() { return cache_; }
  SizedStore& store() { return static_cast<SizedStore&>(cache_.objects()->store()); }
  // Returns the figures; `shared_tokens` is left out. Called once, at the end.
  SimReport Finish();

 private:
  SimServer(const SimOptions& options, size_t context_tokens, LineageId first_lineage,
            std::unique_ptr<PlacementPolicy> placement, std::unique_ptr<EvictionPolicy> eviction);
  void Play(const TraceRequest& asked, Generation* generation, Served* served);
  void SaveWhileBusy();
  void Save();
  void Count(const TraceRequest& asked, const GenerationCost& cost);

  const SimOptions options_;
  ManualClock clock_;
  SizedEngine engine_;
  SizedDisk disk_;
  const double prefill_ms_per_token_;
  CheckpointCache cache_;
  Scheduler scheduler_;
  double saved_ms_ = 0;
  SimReport report_;
};

// `on_progress` is called with the steps done; may be empty. kInvalidArgument: no such policy.
Result<SimReport> Simulate(const std::vector<TraceStep>& steps, size_t block_tokens,
                           const SimOptions& options,
                           const std::function<void(size_t done)>& on_progress = {});

// Returns the tokens that the slots hold together: options.context_tokens or the longest request's.
size_t ContextTokens(const std::vector<TraceStep>& steps, const SimOptions& options);
// Returns the most bytes that the slots hold, in addition to the cache.
double LiveBytesMax(const std::vector<TraceStep>& steps, const SimOptions& options);

// Returns the oracle's input for a bound on the savings of Simulate() with these options.
OracleInput OracleInputFor(const std::vector<TraceStep>& steps, const SimOptions& options);

}  // namespace cairn

#endif  // CAIRN_LAB_SIM_SIMULATOR_H_
