// Prefill: restores a request's slot to its resume point, then computes the rest of its prompt in
// chunks and takes checkpoints where the cache planned them.
//
//   prompt   | resumed without prefill | chunk | chunk | … | last token's logits ─> Decoder
//                                              '- a checkpoint
//
// Each step delays running answers by one ubatch at most, and only as often as AnswerPace allows.
// Short chunks of prompts that wait at the same moment share one (prompt_group.h).
//
// Threads: the context thread.

#ifndef CAIRN_SCHED_STEPS_PREFILL_H_
#define CAIRN_SCHED_STEPS_PREFILL_H_

#include <cstddef>
#include <span>
#include <vector>

#include "base/clock.h"
#include "cache/checkpoint_cache.h"
#include "engine/engine.h"
#include "sched/context/prompt_rules.h"
#include "sched/context/step_accounts.h"
#include "sched/media/encoded_media.h"
#include "sched/queue/request_queue.h"
#include "sched/queue/running_requests.h"
#include "sched/request/queue_order.h"
#include "sched/request/request_state.h"
#include "sched/slots/restorer.h"
#include "sched/steps/decoder.h"
#include "sched/steps/prefetcher.h"
#include "sched/steps/preload.h"
#include "sched/steps/prompt_group.h"

namespace cairn {

struct PrefillOptions {
  EncodedMedia* media = nullptr;       // see SchedulerOptions
  bool keeps_earlier_answers = false;  // for drafts (AnswerStart)
};

class Prefill {
 public:
  // All must outlive this object.
  Prefill(Engine* engine, CheckpointCache* cache, const Clock* clock, ModelSlots* slots,
          const PromptRules* rules, StepAccounts* accounts, const PrefillOptions& options,
          RequestQueue* queue, RunningRequests* running, Decoder* decoder, Prefetcher* prefetcher)
      : engine_(engine),
        cache_(cache),
        clock_(clock),
        slots_(slots),
        rules_(rules),
        accounts_(accounts),
        options_(options),
        queue_(queue),
        running_(running),
        decoder_(decoder),
        prefetcher_(prefetcher),
        preload_(cache, clock, &slots->pool, &slots->restorer, rules, running),
        group_(running) {}

  // Gives an admitted request its slot and restores as much of the prompt as possible without
  // prefill. The request may have ended afterwards.
  void Resume(RunningRequest* request);
  // Computes one chunk of the request that is first in order. Returns false if no request has a
  // prompt to compute, or if the answers' next tokens come first.
  bool Step();
  // Whether the answers' next tokens can wait for the next Step.
  bool AnswersCanWait() const;
  // Whether more requests can be admitted before the next Step: no answer waits too long for that.
  bool MayWaitForMore() const;
  // Whether all prompts to compute waited in the last Step for media that are being encoded.
  bool waits_for_media() const { return waits_for_media_; }
  // Tells the encoding thread which media the running requests need, and in which order; Step does
  // this itself. Charges the namespaces with what was encoded.
  void WantMedia();

 private:
  // Describes the nearest prompt known to the slots and the cache, before the request gets its
  // slot.
  ReuseReport NearestOf(const GenerationRequest& request,
                        const CheckpointCache::MatchResult& match) const;
  // Returns the tokens that followed the same prompt before, in a slot or in the cache; empty if
  // the prompt is new.
  Tokens EarlierAnswerTo(const GenerationRequest& request,
                         const CheckpointCache::MatchResult& match) const;
  void CountRestore(const ReuseReport& report);
  void ReportReuse(RunningRequest* request, ReuseReport nearest, ReuseReport resumed);
  void PlanCheckpoints(RunningRequest* request, const CheckpointCache::MatchResult& match);
  // Whether the prompt's prefill stops where it differs from stored ones, at `position`, although
  // that is no cut.
  bool StopsAtDivergence(const Slot& slot, const PromptCuts& cuts, size_t position) const;
  // Removes the checkpoint at `position`, if it is no cut and another one is planned in the chunk
  // after it.
  void KeepChunkAfterDivergence(const RunningRequest& request, const PromptCuts& cuts,
                                size_t position, std::vector<Placement>* plan) const;
  // Protects the checkpoint at a client's mark from eviction, if there is one.
  void KeepMark(RunningRequest* request, const ClientMark& mark);
  // Returns the requests that still compute media, in queue order.
  std::vector<const RunningRequest*> MediaRequests() const;
  // The first media whose rows the request has not got yet, at most kMediaAhead.
  std::vector<WantedMedium> NeededMedia(const RunningRequest& request) const;
  // The medium whose rows come next; nullptr if a token does, or if the request has not got it.
  const PromptMedium* NextMedium(const RunningRequest& request) const;
  // Whether the next chunk is a medium that is still being encoded. If it is encoded, sets the rows
  // of the request.
  bool WaitsForMedium(RunningRequest* request);
  // Returns the requests whose prompts can be computed now, in order.
  std::vector<RunningRequest*> WaitingRequests();
  // Begins the answers that are held.
  void BeginHeld();
  // `requests` in the order in which their prompts are computed.
  template <typename Request>
  std::vector<Request*> Ordered(std::vector<Request*> requests) const;
  // A queued request that waits for this one lends it its place in the order.
  Contender ContenderOf(const RunningRequest& request) const;
  // The tokens before this position are computed in chunks; those after it are decoded one by one.
  size_t ChunksEnd(const RunningRequest& request) const;
  // A part of a prompt to compute next, or a token of an answer to decode again.
  struct Chunk {
    TokenRange range;
    bool is_answer = false;
  };
  Chunk NextChunk(const RunningRequest& request) const;
  // The rules for the chunk that begins at the end of the request's slot. `cuts`: the prompt's.
  ChunkRules RulesFor(const RunningRequest& request, const PromptCuts& cuts) const;
  // Where the chunk that begins at `begin` ends; the prompt ends at `chunks_end`.
  size_t ChunkEnd(const RunningRequest& request, size_t begin, size_t chunks_end) const;
  // The time that a prompt token of the request takes, from the measurements so far; 0: unknown.
  double MsPerToken(const RunningRequest& request) const;
  // The most tokens of the next chunk that keep answers waiting no longer than they should.
  size_t WantedTokens(const RunningRequest& request) const;
  struct PlannedChunk {
    RunningRequest* request = nullptr;
    Chunk chunk = {};
    size_t tokens() const { return chunk.range.end - chunk.range.begin; }
  };
  // The chunks to compute next, by slot: that of the first request, and those of others in its
  // group that fit into a ubatch beside it. Each reads the weights once more otherwise.
  std::vector<PlannedChunk> PlanChunks(std::span<RunningRequest* const> in_order) const;
  void ComputeTogether(const std::vector<PlannedChunk>& chunks);
  void ComputeChunk(RunningRequest* request, const Chunk& chunk);
  // A chunk was computed. `logits`: those after its last token.
  void OnComputed(RunningRequest* request, const Chunk& chunk, double ms,
                  std::span<const float> logits);
  Status Compute(RunningRequest* request, const TokenRange& range, bool is_answer);
  Status ComputeMedium(RunningRequest* request, TokenSpan tokens);
  void TakeCheckpoint(RunningRequest* request);
  // The prompt is computed: stores the state with the logits, and begins the answer or holds it.
  void FinishAndKeepEnd(RunningRequest* request, std::span<const float> logits);
  void Finish(RunningRequest* request, std::span<const float> logits);
  // Keeps the log-probabilities of the prompt tokens that follow those of the chunk.
  void ScoreChunk(RunningRequest* request, const TokenRange& range) const;
  Slot& SlotOf(const RunningRequest& request) { return slots_->pool.slot(*request.slot); }

  Engine* const engine_;
  CheckpointCache* const cache_;
  const Clock* const clock_;
  ModelSlots* const slots_;
  const PromptRules* const rules_;
  StepAccounts* const accounts_;
  const PrefillOptions options_;
  RequestQueue* const queue_;
  RunningRequests* const running_;
  Decoder* const decoder_;
  Prefetcher* const prefetcher_;
  Preload preload_;
  PromptGroup group_;
  bool waits_for_media_ = false;
};

}  // namespace cairn

#endif  // CAIRN_SCHED_STEPS_PREFILL_H_
