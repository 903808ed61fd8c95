// RequestState: one answer of a request, from Submit to its end. It is a QueuedRequest in the queue
// and a RunningRequest on the engine. A request for several answers has one RequestState for each.
//
//   Submit ─> QueuedRequest ── Admission ──> RunningRequest ── Prefill, Decoder ──> AnswerReporter
//                  ^                               │
//                  '────────── preempted ──────────'      (its sampler and its answer come along)
//
// Threads: QueuedRequests are guarded by RequestQueue, and while they are queued other threads
// change `refused` alone; the rest belongs to the context thread.

#ifndef CAIRN_SCHED_REQUEST_REQUEST_STATE_H_
#define CAIRN_SCHED_REQUEST_REQUEST_STATE_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "base/tokens.h"
#include "engine/engine.h"
#include "policy/placement.h"
#include "sched/answer/generation.h"
#include "sched/answer/reasoning_meter.h"
#include "sched/answer/reuse_report.h"
#include "sched/answer/stop_text.h"
#include "sched/answer/token_logprobs.h"
#include "sched/draft/drafter.h"
#include "sched/request/generation_request.h"

namespace cairn {

// A slot that was filled for a request before it left the queue.
struct FilledSlot {
  size_t slot = 0;
  ReuseReport report;
};

// The times of an answer by the scheduler's clock; 0: not yet.
struct RequestTimes {
  double submitted_ms = 0;
  double queued_ms = 0;  // when it entered the queue, or entered it again
  double admitted_ms = 0;
  double first_token_ms = 0;
  double load_ms = 0;   // how long its states were read from disk, before it got its slot
  double fetch_ms = 0;  // how long it waited for a remote store before that
};

struct RequestState {
  GenerationRequest request;
  std::shared_ptr<Generation> generation;
  size_t answer_index = 0;  // among the answers of its request
  uint64_t number = 0;      // the order of arrival
  uint64_t admission = 0;   // the order of admission; that of the last one if it was preempted
  RequestTimes times;
  GenerationCost cost;
  std::unique_ptr<Sampler> sampler;  // made at the first admission
  std::optional<FilledSlot> filled;  // see PathFills
  bool reads_disk = true;            // false: the disk took longer than its prefill would
  ReasoningMeter reasoning;
  std::unique_ptr<StopText> text;
  HeldTokens held;  // of the answer, until their text is sent
  // Those of the prompt's tokens after the first one, as far as it is prefilled; if requested.
  std::vector<TokenLogprob> prompt_logprobs;
  AnswerDrafts drafts;                        // made when its prompt is computed
  Tokens answer;                              // the sampled tokens, without the one that ended it
  std::optional<Token> end_token;             // the one that ended it, unless it is held
  std::shared_ptr<const ReuseReport> report;  // of its first admission
  // Tokens to prefill before the next token is sampled: the prompt, and after a preemption also the
  // answer so far.
  Tokens prefill_tokens;
  // Set for a preload: the last of prefill_tokens is a placeholder for an unknown token and is not
  // computed.
  bool has_placeholder = false;
  // The class of a preload's checkpoint.
  CheckpointClass preload_class = CheckpointClass::kInterval;

  // Its client is behind (Generation::behind), so its answer waits: in its slot, or in the queue if
  // another request wanted the slot. See RunningRequests::UpdatePauses.
  bool paused = false;
  double paused_ms = 0;  // when the pause began

  bool was_admitted() const { return sampler != nullptr; }
  // Whether its first token was sampled.
  bool has_begun() const { return times.first_token_ms > 0; }
  // After a preemption reuse is allowed even for a request that forbids it, because its complete
  // prompt was computed once.
  bool may_reuse() const {
    return (request.reuse && !request.params.prompt_logprobs) || has_begun();
  }
  // Whether the chunks of its prompt are computed with all logits.
  bool scores_prompt() const { return request.params.prompt_logprobs && !has_begun(); }
};

// The relation of a queued request to the running ones. Each pair is compared once.
struct PrefixWait {
  uint64_t met = 0;     // the last admission whose prompt it was compared with
  uint64_t reader = 0;  // the admission that it waits for; 0 if none
  size_t position = 0;  // the position that the reader must have computed
  bool counted = false;
};

// An estimate of how much of a queued prompt must be computed.
struct PrefillEstimate {
  size_t tokens = 0;
  size_t shared_tokens = 0;  // held in cells of a slot in use, and shared with it
  // The last admission at the time of the estimate; nullopt if there is no estimate.
  std::optional<uint64_t> admission = {};
};

// Objects of the cache that are read from disk for a queued request.
struct PathLoad {
  double begin_ms = 0;
  // The last admission when the path was chosen; nullopt if it was not yet.
  std::optional<uint64_t> admission = {};
  // It needs states from disk, and other requests that do are loading.
  bool waits = false;
};

// The lookup of a queued request in a remote store.
struct RemoteWait {
  bool asked = false;
  double begin_ms = 0;
};

// Whether a queued request makes room for a client with fewer waiting requests. The thread of that
// client sets it, under the queue's lock; the context thread reads it without that lock, from what
// RequestQueue::Ready returned. Only the context thread moves a queued request, under the lock.
class RefusedFlag {
 public:
  RefusedFlag() = default;
  RefusedFlag(const RefusedFlag& other) noexcept : set_(other.is_set()) {}
  RefusedFlag& operator=(const RefusedFlag& other) noexcept {
    set_.store(other.is_set(), std::memory_order_relaxed);
    return *this;
  }
  ~RefusedFlag() = default;

  void Set() { set_.store(true, std::memory_order_relaxed); }
  bool is_set() const { return set_.load(std::memory_order_relaxed); }

 private:
  std::atomic<bool> set_ = false;
};

struct QueuedRequest : RequestState {
  PrefixWait wait = {};
  PrefillEstimate estimate = {};
  PathLoad path_load = {};
  RemoteWait remote = {};
  std::optional<double> exchange_ms = {};  // when slots began to be stored for it (SlotExchange)
  // Whether a slot is filled for it part by part (PathFills).
  enum class Fill { kNotTried, kRuns, kEnded };
  Fill fill = Fill::kNotTried;
  RefusedFlag refused = {};
  bool preempted = false;  // its slot went to a namespace that had none

  // The tokens that its slot is to hold.
  const Tokens& tokens() const { return was_admitted() ? prefill_tokens : request.prompt; }
  // Whether it only waits for its end to be reported.
  bool leaves_queue() const { return refused.is_set() || generation->cancelled(); }
  // False while it waits for its client to read, or for another answer of its request to compute
  // the prompt.
  bool ready() const {
    if (generation->cancelled()) return true;
    return !paused && (answer_index == 0 || generation->prompt_read());
  }
};

struct RunningRequest : RequestState {
  explicit RunningRequest(RequestState state) : RequestState(std::move(state)) {}

  std::optional<size_t> slot;     // from admission until it ends or is preempted
  double slot_ms = 0;             // when it got the slot
  std::vector<Placement> plan;    // checkpoints still to take, nearest first
  std::vector<ClientMark> marks;  // of the request, moved to where checkpoints can be
  Tokens earlier_answer;          // what followed the same prompt before; kept until it is computed
  std::optional<Token> next;      // sampled, not decoded yet
  // The rows of the medium at `rows_begin`, or why there are none; nullptr: not at hand yet.
  Result<std::shared_ptr<const EncodedPiece>> rows = nullptr;
  size_t rows_begin = 0;
  double prefill_ms = 0;            // time of the chunks computed so far
  double chunk_ms_per_token = 0;    // of the last one that was not short; 0: there was none
  size_t prefill_begin_tokens = 0;  // tokens that the slot held before the first chunk
  // Those behind its prompt, while its answer waits for the prompts of its group (PromptGroup).
  std::vector<float> held_logits;

  bool answering() const { return next.has_value(); }
  bool is_held() const { return !held_logits.empty(); }
  // Whether the next step decodes a token of its answer.
  bool decodes() const { return answering() && !paused; }
  // Whether it computes its prompt for the first time.
  bool prefills_prompt() const { return !answering() && !is_held() && !has_begun(); }
};

}  // namespace cairn

#endif  // CAIRN_SCHED_REQUEST_REQUEST_STATE_H_
