// Log-probabilities of tokens as JSON, in three formats.
//
// A token has an id, a text (with U+FFFD for incomplete characters) and bytes.

#ifndef CAIRN_API_ANSWER_LOGPROBS_JSON_H_
#define CAIRN_API_ANSWER_LOGPROBS_JSON_H_

#include <cstddef>
#include <span>

#include "api/json.h"
#include "sched/answer/token_logprobs.h"

namespace cairn {

// For one choice of chat/completions: {"content": [{token, logprob, bytes, top_logprobs, id}]}.
Json ChatLogprobsJson(std::span<const TokenLogprob> logprobs);

// llama-server's `completion_probabilities`: only the list.
Json NativeProbabilitiesJson(std::span<const TokenLogprob> logprobs);
// The same for `post_sampling_probs`: `prob` and `top_probs`, from 0 to 1.
Json SampledProbabilitiesJson(std::span<const TokenLogprob> logprobs);

// For one choice of completions: {"tokens", "token_logprobs", "top_logprobs", "text_offset"}. A
// token with an incomplete character is named "bytes:\xe2". The sampled token is always among the
// top ones, so there may be one more than requested. Use one object per answer: offsets, in
// characters, continue from chunk to chunk.
class LegacyLogprobs {
 public:
  Json Next(std::span<const TokenLogprob> logprobs);
  // Appends them to the lists of what came before.
  void Append(std::span<const TokenLogprob> logprobs, Json* lists);
  // Those of a prompt before the answer: `first`, of which there is none, then the rest.
  // `first_in_text`: whether the text begins with it; a BOS that the server added takes no room.
  // Call before the others.
  Json OfPrompt(const LikelyToken& first, bool first_in_text, std::span<const TokenLogprob> rest);

 private:
  size_t offset_ = 0;
};

}  // namespace cairn

#endif  // CAIRN_API_ANSWER_LOGPROBS_JSON_H_
