// What a request cost, as clients are told it.

#ifndef CAIRN_API_COST_JSON_H_
#define CAIRN_API_COST_JSON_H_

#include "api/json.h"
#include "sched/generation.h"

namespace cairn {

// llama-server's `timings`: milliseconds and rates of this request's own work.
Json TimingsJson(const GenerationCost& cost);
// OpenAI's `usage`: prompt_tokens includes what was reused.
Json UsageJson(const GenerationCost& cost);

}  // namespace cairn

#endif  // CAIRN_API_COST_JSON_H_
