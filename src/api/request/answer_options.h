// AnswerOptions: options of a request beside sampling: number of answers, log-probabilities, slot,
// explanation. Requests of OpenAI's chat/completions and completions and of llama-server's
// completion have all of them; the other APIs have `cairn` only.

#ifndef CAIRN_API_REQUEST_ANSWER_OPTIONS_H_
#define CAIRN_API_REQUEST_ANSWER_OPTIONS_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "api/json.h"
#include "api/request/cache_hints.h"
#include "sched/request/generation_request.h"

namespace cairn {

struct AdapterScale {
  size_t adapter = 0;
  float scale = 0;
};

struct AnswerOptions {
  bool include_usage = false;  // `stream_options.include_usage`
  // `n`, 1 to 128: answers to one prompt, which is prefilled once. A given seed is that of the
  // first answer; the others use the numbers after it.
  size_t answers = 1;
  // Below `answers` with `best_of`, which is their number then: so many of them are returned to
  // each prompt, those with the highest log-probability per token. 0: all.
  size_t answers_kept = 0;
  // Log-probabilities of the answer's tokens, with this many of the most likely tokens at each
  // position. Tokens of reasoning and of tool calls are included; the end-of-generation token and
  // tokens that a stop text cut off are not.
  std::optional<size_t> logprobs = {};
  // `post_sampling_probs`: they are probabilities of the distribution that was sampled from.
  bool sampled_probs = false;
  // `id_slot`: used if the slot is free. -1 or absent: any slot.
  std::optional<size_t> slot = {};
  bool progress = false;           // `return_progress`: a stream tells how far the prompt is read
  bool timings_per_token = false;  // each chunk of a stream has `timings`
  // `verbose`: OpenAI's answers have `__verbose`. Absent: as ChatServiceOptions::verbose says.
  std::optional<bool> verbose = {};
  // `functions` in place of `tools`: a call is a `function_call`, and an answer shows one at most.
  bool legacy_calls = false;
  CacheHints cache = {};
  bool explain = false;  // `cairn.explain`: tell what was reused and why not more
  // `lora`: adapters by their number, and the scales to apply them with; the others are not
  // applied. Absent: the server's, which POST /lora-adapters sets.
  std::optional<std::vector<AdapterScale>> adapters = {};
};

// Parses a list of {"id", "scale"}, as llama-server takes it. `name` is the list's for errors.
ApiResult<std::vector<AdapterScale>> ParseAdapterScales(const Json& list, const std::string& name);

// The field with which a dialect requests log-probabilities.
enum class LogprobsField : uint8_t {
  kChat,    // `logprobs`: true, `top_logprobs`: 0 to 20
  kLegacy,  // `logprobs`: 0 to 20
  kNative,  // `n_probs`: 1 to 1000; 0: none
};

ApiResult<AnswerOptions> ParseAnswerOptions(const Json& body, LogprobsField logprobs);

// Returns `cairn.explain` of a request of any API.
ApiResult<bool> ParseExplain(const Json& body);

void ApplyAnswerOptions(const AnswerOptions& options, GenerationRequest* request);

}  // namespace cairn

#endif  // CAIRN_API_REQUEST_ANSWER_OPTIONS_H_
