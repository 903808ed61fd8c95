// RequestState: one answer of a request, from Submit to its end. It lives in the queue as a
// QueuedRequest and on the engine as a RunningRequest. A request that asked for several answers is
// as many of these.
//
//   Submit ─> QueuedRequest ── Admission ──> RunningRequest ── Prefill, Decoder ──> AnswerReporter
//                  ^                               │
//                  '────────── preempted ──────────'      (its sampler and its answer come along)
//
// Threads: QueuedRequests are guarded by RequestQueue; the rest belongs to the context thread.

#ifndef CAIRN_SCHED_REQUEST_STATE_H_
#define CAIRN_SCHED_REQUEST_STATE_H_

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
#include "sched/generation_request.h"
#include "sched/queue/in_flight.h"

namespace cairn {

struct RequestState {
  GenerationRequest request;
  std::shared_ptr<Generation> generation;
  size_t answer_index = 0;  // of those asked for
  uint64_t number = 0;      // in the order of arrival
  uint64_t admission = 0;   // in the order of admission; of the last one
  // By the scheduler's clock; 0: not yet.
  double submitted_ms = 0;
  double queued_ms = 0;  // since then, when it is or was last
  double admitted_ms = 0;
  double first_token_ms = 0;
  GenerationCost cost;
  std::unique_ptr<Sampler> sampler;  // from the first admission on
  ReasoningMeter reasoning;
  std::unique_ptr<StopText> text;
  HeldLogprobs logprobs;
  Tokens answer;                              // sampled, without the token that ended it
  std::shared_ptr<const ReuseReport> report;  // of its first admission
  // Tokens to prefill before the next token is sampled: the prompt; after a preemption in the
  // middle of an answer, that too.
  Tokens prefill_tokens;
  // Of a preload: the last of prefill_tokens stands for a token that is not known and is not
  // computed.
  bool has_placeholder = false;
  CheckpointClass preload_class = CheckpointClass::kInterval;  // likewise: of its checkpoint

  bool was_admitted() const { return sampler != nullptr; }
  // Its first token was sampled.
  bool has_begun() const { return first_token_ms > 0; }
};

// About how much of a queued prompt must be computed.
struct PrefillEstimate {
  size_t tokens = 0;
  size_t shared_tokens = 0;                // with a slot in use, in whose cells they lie
  std::optional<uint64_t> admission = {};  // the last one when it was estimated; nothing: never
};

struct QueuedRequest : RequestState {
  PrefixWait wait = {};
  PrefillEstimate estimate = {};
  bool refused = false;    // it makes room in the queue for a client that waits with fewer
  bool preempted = false;  // its slot went to a namespace that had none

  // It waits only to be told so.
  bool leaves_queue() const { return refused || generation->cancelled(); }
  // False: it waits for another answer's prompt.
  bool ready() const {
    return answer_index == 0 || generation->prompt_read() || generation->cancelled();
  }
};

struct RunningRequest : RequestState {
  explicit RunningRequest(RequestState state) : RequestState(std::move(state)) {}

  std::optional<size_t> slot;       // until it ends or is preempted
  double slot_ms = 0;               // when it got the slot
  std::vector<Placement> plan;      // checkpoints still to take, nearest first
  std::vector<ClientMark> marks;    // of the request, where checkpoints can be
  std::optional<Token> next;        // sampled, not decoded
  double prefill_ms = 0;            // of the chunks computed so far
  size_t prefill_begin_tokens = 0;  // that the slot held before the first chunk

  bool answering() const { return next.has_value(); }
  // It computes its prompt for the first time.
  bool prefills_prompt() const { return !answering() && !has_begun(); }
};

}  // namespace cairn

#endif  // CAIRN_SCHED_REQUEST_STATE_H_
