// The cost of a request as JSON.

#ifndef CAIRN_API_ANSWER_COST_JSON_H_
#define CAIRN_API_ANSWER_COST_JSON_H_

#include <cstddef>

#include "api/json.h"
#include "sched/answer/generation.h"

namespace cairn {

// llama-server's `timings`: milliseconds and rates of this request. The rates of generated tokens
// are of those after the first one.
Json TimingsJson(const GenerationCost& cost);
// OpenAI's `usage`; prompt_tokens includes reused tokens.
Json UsageJson(const GenerationCost& cost);
// Adds llama-server's `prompt_progress` to an event; `processed_tokens` includes reused ones. With
// timings also `timings`, of the tokens that are done.
void AddProgress(size_t processed_tokens, GenerationCost cost, bool with_timings, Json* told);

// Adds the cost of one more answer to the same prompt to `all`. The prompt counts once, with the
// figures of answer 0; the answers were generated concurrently.
void AddAnswerCost(size_t answer, const GenerationCost& cost, GenerationCost* all);

// Adds the cost of the answers to one prompt to `all`, which has that of others. Milliseconds of
// prompts add up; the answers are generated concurrently.
void AddPromptCost(const GenerationCost& cost, GenerationCost* all);

}  // namespace cairn

#endif  // CAIRN_API_ANSWER_COST_JSON_H_
