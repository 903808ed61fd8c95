// GenerationRequest: one request for answers to a prompt, as Scheduler::Submit takes it.
//
// Plain data.

#ifndef CAIRN_SCHED_REQUEST_GENERATION_REQUEST_H_
#define CAIRN_SCHED_REQUEST_GENERATION_REQUEST_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/tokens.h"
#include "cache/objects/segment_index.h"
#include "engine/engine.h"
#include "policy/placement.h"
#include "sched/answer/generation.h"
#include "sched/answer/reasoning_meter.h"
#include "sched/media/encoded_media.h"

namespace cairn {

struct GenerationParams {
  SamplingParams sampling;
  // As sampling.logit_bias, for each token of a text. ChatService::SettleBiases adds them to that.
  std::vector<std::pair<std::string, float>> text_biases = {};
  size_t tokens_max = SIZE_MAX;
  std::vector<std::string> stop_texts;
  // Continue past the model's own end of an answer. ChatService::SettleBiases also has it not
  // sampled.
  bool ignore_end = false;
  // Control tokens with these texts are part of the answer's text; other control tokens have no
  // text.
  std::vector<std::string> control_texts;
  bool shows_control = false;  // all control tokens have their text
  // The number of first tokens, besides BOS, that --context-shift keeps when the context is full;
  // -1: the prompt.
  int64_t keep_tokens = 0;
  // Report each token's log-probability, and those of this many of the likeliest tokens.
  std::optional<size_t> logprobs;
  // Report that of the token that ends the answer too, which has no text. Programs that score texts
  // ask for one token more than they need, and count from the end.
  bool end_logprob = false;
  // These are of the distribution that each token was sampled from, not of the model's own.
  bool sampled_logprobs = false;
  // Report the same of the prompt's tokens after the first one, in one event before the answer's
  // text. The prompt is then prefilled from its beginning: stored states have no logits of earlier
  // positions. Only the first answer of a request reports them. REQUIRES: no media in the prompt.
  std::optional<size_t> prompt_logprobs = {};
  ReasoningParams reasoning = {};
  bool reuse = true;  // what GenerationRequest::reuse is for requests that do not say
};

// An answer, as a client's callback receives it. Its pointers are valid during the call.
struct FinishedAnswer {
  TokenSpan tokens;            // without the token that ended it
  std::string_view stop_text;  // the stop text that ended it; empty if none did
  FinishReason reason = FinishReason::kStop;
  uint64_t admission = 0;  // the order in which requests got slots
};

struct GenerationRequest {
  NamespaceId name_space = 0;
  Tokens prompt;
  // The media whose tokens are in the prompt, in order.
  std::vector<PromptMedium> media = {};
  PromptShape shape;
  GenerationParams params;
  bool reuse = true;   // false: prefill the complete prompt
  size_t answers = 1;  // each sampled with a seed one higher, unless every seed is a new one
  // Set if another generation gets the events, as those of its answers from `first_answer` on: a
  // client's request may have several prompts.
  std::shared_ptr<Generation> part_of = {};
  size_t first_answer = 0;
  std::optional<size_t> slot = {};  // requested by the first answer, see SlotNeeds
  uint64_t cache_key = 0;           // see SlotNeeds
  size_t pinned_texts = 0;          // reported in GenerationCost
  size_t dropped_messages = 0;      // reported in GenerationCost
  // The prompt is a checkpoint's path and gets no answer: its state is loaded into a slot for later
  // requests that continue it (sched/steps/preload.h). With tokens_max 0.
  bool preloads = false;
  // Keeps the set of adapters of `name_space` (AdapterSets::Held); Scheduler::Submit sets it.
  std::shared_ptr<const void> adapters_held = {};
  // Called by the context thread, before the client receives the end. Not called if the answer
  // failed.
  std::function<void(const FinishedAnswer& answer)> on_answer = {};
};

// Returns the kTooLong error for a prompt that the context cannot hold. There is one text, because
// clients match it and then shorten the conversation. `tokens`: the prompt's length in words, such
// as "9000" or "at least 9000".
Error PromptTooLong(const std::string& tokens, size_t context_tokens);

}  // namespace cairn

#endif  // CAIRN_SCHED_REQUEST_GENERATION_REQUEST_H_
