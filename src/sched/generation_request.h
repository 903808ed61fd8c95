// GenerationRequest: one request for answers to a prompt, as Scheduler::Submit takes it.
//
// Plain data.

#ifndef CAIRN_SCHED_GENERATION_REQUEST_H_
#define CAIRN_SCHED_GENERATION_REQUEST_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/tokens.h"
#include "cache/segment_index.h"
#include "engine/engine.h"
#include "policy/placement.h"
#include "sched/answer/generation.h"
#include "sched/answer/reasoning_meter.h"

namespace cairn {

struct GenerationParams {
  SamplingParams sampling;
  size_t tokens_max = SIZE_MAX;
  std::vector<std::string> stop_texts;
  bool ignore_end = false;  // go on past the model's own end of an answer
  // Control tokens with these texts are part of the answer's text; all others have none.
  std::vector<std::string> control_texts;
  // Of a context that is full, --context-shift keeps so many first tokens beside BOS; -1: the
  // prompt.
  int64_t keep_tokens = 0;
  // Report each token's log-probability, and those of so many likeliest ones beside it.
  std::optional<size_t> logprobs;
  ReasoningParams reasoning = {};
};

// An answer as a client's callback hears of it. What it points to lives as long as the call.
struct FinishedAnswer {
  TokenSpan tokens;            // without the one that ended it
  std::string_view stop_text;  // that ended it, if one did
  FinishReason reason = FinishReason::kStop;
  uint64_t admission = 0;  // in the order in which requests got slots
};

struct GenerationRequest {
  NamespaceId name_space = 0;
  Tokens prompt;
  PromptShape shape;
  GenerationParams params;
  bool reuse = true;   // false: read all of the prompt
  size_t answers = 1;  // each drawn with a seed one higher, unless every seed is a new one
  std::optional<size_t> slot = {};  // wished for, see SlotNeeds; by the first answer
  size_t pinned_texts = 0;          // for the cost, which tells it
  size_t dropped_messages = 0;      // likewise
  // The prompt is a checkpoint's path and gets no answer: a slot is brought there for whoever goes
  // on from it (sched/prefetch/preload.h). With tokens_max 0.
  bool preloads = false;
  // Called by the context thread, before the client hears of the end. Not when the answer failed.
  std::function<void(const FinishedAnswer& answer)> on_answer = {};
};

}  // namespace cairn

#endif  // CAIRN_SCHED_GENERATION_REQUEST_H_
