// Scheduler: the one thread that owns the engine's context. This is the header of sched/ that
// others include.
//
// Requests wait in a queue; Step() does one bounded thing and comes back:
//
//   admit ──> resume ──> read a piece ──> … ──> decode a token ──> … ──> finish
//              │            │
//              │            └ checkpoint where the cache planned one
//              └ the furthest point reachable without reading (sched/slot_keeper.h)
//
// Between two steps a request may be cancelled; the checkpoints it took stay.
//
// Threads: Submit and Stop from any thread; Run, Step and the destructor from the context thread.

#ifndef CAIRN_SCHED_SCHEDULER_H_
#define CAIRN_SCHED_SCHEDULER_H_

#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "base/clock.h"
#include "cache/checkpoint_cache.h"
#include "cache/resume.h"
#include "engine/engine.h"
#include "sched/generation.h"
#include "sched/slot.h"
#include "sched/slot_keeper.h"
#include "sched/stop_text.h"

namespace cairn {

struct GenerationParams {
  SamplingParams sampling;
  size_t tokens_max = SIZE_MAX;
  std::vector<std::string> stop_texts;
  bool ignore_end = false;  // go on past the model's own end of an answer
};

struct GenerationRequest {
  NamespaceId name_space = 0;
  Tokens prompt;
  PromptShape shape;
  GenerationParams params;
  bool reuse = true;  // false: read all of the prompt
};

struct SchedulerOptions {
  ReuseMode reuse = ReuseMode::kLive;
  // Requests that may wait; more are refused.
  size_t queue_limit = 64;
  // See SlotKeeper::Options.
  bool keep_ends = true;
  bool park = true;
};

// Since the start.
struct SchedulerStats {
  uint64_t requests = 0;
  uint64_t prompt_tokens = 0;
  uint64_t reused_tokens = 0;
  uint64_t generated_tokens = 0;
  SlotKeeper::Stats keeper;
  CacheStats cache;
};

class Scheduler {
 public:
  // All three outlive the scheduler.
  Scheduler(Engine* engine, CheckpointCache* cache, const Clock* clock,
            const SchedulerOptions& options);

  // kTooLong: the prompt leaves no room for an answer. kInvalidArgument: it is empty.
  // kUnavailable: the queue is full, or the scheduler is stopping.
  Result<std::shared_ptr<Generation>> Submit(GenerationRequest request);

  // Steps until Stop; then fails what is left.
  void Run();
  void Stop();
  // One step; false: there is nothing to do.
  bool Step();

  SchedulerStats stats() const;

 private:
  struct Task {
    GenerationRequest request;
    std::shared_ptr<Generation> generation;
    double submitted_ms = 0;
    double admitted_ms = 0;
    double first_token_ms = 0;
    GenerationCost cost;
    std::unique_ptr<Sampler> sampler;
    std::unique_ptr<StopText> text;
    std::vector<Placement> plan;  // checkpoints still to take, nearest first
    std::optional<Token> next;    // drawn, not decoded; set once the prompt is read
    double read_ms = 0;           // of the pieces read so far
  };

  std::optional<Task> NextTask();
  void Admit(Task task);
  void Resume(Task* task);
  void ReadPiece(Task* task);
  void BeginAnswer(Task* task, std::span<const float> logits);
  void DecodeToken(Task* task);
  void DrawToken(Task* task, std::span<const float> logits);
  void PushText(const Task& task, std::string text);
  void Finish(FinishReason reason);
  void FailTask(Error error);

  Engine* const engine_;
  CheckpointCache* const cache_;
  const Clock* const clock_;
  const SchedulerOptions options_;
  const size_t grid_tokens_;

  // Owned by the context thread.
  Slot slot_;
  SlotKeeper keeper_;
  std::optional<Task> task_;

  mutable std::mutex mutex_;
  std::condition_variable arrived_;
  std::deque<Task> queue_;  // guarded by mutex_
  bool stopping_ = false;   // guarded by mutex_
  SchedulerStats stats_;    // guarded by mutex_
};

}  // namespace cairn

#endif  // CAIRN_SCHED_SCHEDULER_H_
