// What a request cost, as clients are told it.

#ifndef CAIRN_API_LLAMA_SERVER_COST_JSON_H_
#define CAIRN_API_LLAMA_SERVER_COST_JSON_H_

#include <cstddef>

#include "api/json.h"
#include "sched/answer/generation.h"

namespace cairn {

// llama-server's `timings`: milliseconds and rates of this request's own work.
Json TimingsJson(const GenerationCost& cost);
// OpenAI's `usage`: prompt_tokens includes what was reused.
Json UsageJson(const GenerationCost& cost);
// llama-server's `prompt_progress`; `processed` includes what was reused.
Json ProgressJson(size_t processed_tokens, const GenerationCost& cost);

// Puts the cost of one more answer to the same prompt into `all`: the prompt counts once, as the
// first answer (number 0) had it, and the answers were written side by side.
void AddAnswerCost(size_t answer, const GenerationCost& cost, GenerationCost* all);

}  // namespace cairn

#endif  // CAIRN_API_LLAMA_SERVER_COST_JSON_H_
