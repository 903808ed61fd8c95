// The cost of a request as JSON.

#ifndef CAIRN_API_LLAMA_SERVER_COST_JSON_H_
#define CAIRN_API_LLAMA_SERVER_COST_JSON_H_

#include <cstddef>

#include "api/json.h"
#include "sched/answer/generation.h"

namespace cairn {

// llama-server's `timings`: milliseconds and rates of this request.
Json TimingsJson(const GenerationCost& cost);
// OpenAI's `usage`; prompt_tokens includes reused tokens.
Json UsageJson(const GenerationCost& cost);
// llama-server's `prompt_progress`; `processed` includes reused tokens.
Json ProgressJson(size_t processed_tokens, const GenerationCost& cost);

// Adds the cost of one more answer to the same prompt to `all`. The prompt counts once, with the
// figures of answer 0; the answers were generated concurrently.
void AddAnswerCost(size_t answer, const GenerationCost& cost, GenerationCost* all);

// Adds the cost of the answers to one prompt to `all`, which has that of others. Milliseconds of
// prompts add up; the answers are generated concurrently.
void AddPromptCost(const GenerationCost& cost, GenerationCost* all);

}  // namespace cairn

#endif  // CAIRN_API_LLAMA_SERVER_COST_JSON_H_
