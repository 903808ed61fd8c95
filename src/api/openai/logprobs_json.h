// Log-probabilities of tokens, in the three shapes that clients read.
//
// A token is told by its id, its text (what is no whole character in it becomes U+FFFD) and its
// bytes.

#ifndef CAIRN_API_OPENAI_LOGPROBS_JSON_H_
#define CAIRN_API_OPENAI_LOGPROBS_JSON_H_

#include <cstddef>
#include <span>

#include "api/json.h"
#include "sched/answer/token_logprobs.h"

namespace cairn {

// Of one choice of chat/completions: {"content": [{token, logprob, bytes, top_logprobs, id}]}
Json ChatLogprobsJson(std::span<const TokenLogprob> logprobs);

// llama-server's `completion_probabilities`: the list alone.
Json NativeProbabilitiesJson(std::span<const TokenLogprob> logprobs);

// Of one choice of completions: {"tokens", "token_logprobs", "top_logprobs", "text_offset"}. A
// token that is no whole character is named "bytes:\xe2" there. The drawn token is among its top
// ones, which may so be one more than asked for. One object an answer, as offsets, in characters,
// go on from chunk to chunk.
class LegacyLogprobs {
 public:
  Json Next(std::span<const TokenLogprob> logprobs);

 private:
  size_t offset_ = 0;
};

}  // namespace cairn

#endif  // CAIRN_API_OPENAI_LOGPROBS_JSON_H_
