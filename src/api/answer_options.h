// AnswerOptions: what a request of OpenAI's chat/completions and completions, or of llama-server's
// completion, asks for beside the answer's text. Of the other APIs' requests it is `cairn` alone.

#ifndef CAIRN_API_ANSWER_OPTIONS_H_
#define CAIRN_API_ANSWER_OPTIONS_H_

#include <cstddef>
#include <cstdint>
#include <optional>

#include "api/json.h"
#include "sched/scheduler.h"

namespace cairn {

struct AnswerOptions {
  bool include_usage = false;  // `stream_options.include_usage`
  // `n`, 1 to 128: answers to the same prompt, which is read once. A seed that is given is the
  // first one's; the others have the numbers after it.
  size_t answers = 1;
  // Log-probabilities of the answer's tokens, and so many likeliest ones beside each. All tokens
  // that the model wrote are told of, those of reasoning and of tool calls too, but not the one
  // that ended the answer nor what a stop text cut off.
  std::optional<size_t> logprobs = {};
  // `id_slot`: wished for, and granted when it is free. -1 or absent: any.
  std::optional<size_t> slot = {};
  bool progress = false;           // `return_progress`: a stream tells how far the prompt is read
  bool timings_per_token = false;  // each chunk of a stream has `timings`
  bool explain = false;            // `cairn.explain`: tell what was reused and why not more
};

// How a request asks for log-probabilities.
enum class LogprobsField : uint8_t {
  kChat,    // `logprobs`: true, `top_logprobs`: 0 to 20
  kLegacy,  // `logprobs`: 0 to 20
  kNative,  // `n_probs`: 1 to 1000; 0: none
};

// `prompt_cache_key` and `prompt_cache_retention` are looked at for their types alone: prefixes are
// found by their tokens, so a key could only tell what is known, and how long they are kept is a
// matter of room.
ApiResult<AnswerOptions> ParseAnswerOptions(const Json& body, LogprobsField logprobs);

// `cairn.explain` of a request of any API.
ApiResult<bool> ParseExplain(const Json& body);

void ApplyAnswerOptions(const AnswerOptions& options, GenerationRequest* request);

}  // namespace cairn

#endif  // CAIRN_API_ANSWER_OPTIONS_H_
