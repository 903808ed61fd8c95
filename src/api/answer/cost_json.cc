#include "api/answer/cost_json.h"

#include <algorithm>

namespace cairn {
namespace {

double Per(double amount, double of) {
  return of > 0 ? amount / of : 0;
}

}  // namespace

Json TimingsJson(const GenerationCost& cost) {
  const auto read = static_cast<double>(cost.prefill_tokens());
  // The first token comes with the prompt, and costs no decode.
  const auto decoded =
      static_cast<double>(cost.generated_tokens > 0 ? cost.generated_tokens - 1 : 0);
  Json timings = {{"cache_n", cost.reused_tokens},
                  {"prompt_n", cost.prefill_tokens()},
                  {"prompt_ms", cost.prompt_ms},
                  {"prompt_per_token_ms", Per(cost.prompt_ms, read)},
                  {"prompt_per_second", Per(read * 1000, cost.prompt_ms)},
                  {"predicted_n", cost.generated_tokens},
                  {"predicted_ms", cost.generated_ms},
                  {"predicted_per_token_ms", Per(cost.generated_ms, decoded)},
                  {"predicted_per_second", Per(decoded * 1000, cost.generated_ms)}};
  if (cost.pinned_texts > 0) timings["pinned_n"] = cost.pinned_texts;
  if (cost.dropped_messages > 0) timings["dropped_messages"] = cost.dropped_messages;
  if (cost.drafted_tokens > 0) {
    timings["draft_n"] = cost.drafted_tokens;
    timings["draft_n_accepted"] = cost.accepted_tokens;
  }
  if (cost.shifted_tokens > 0) timings["shifted_n"] = cost.shifted_tokens;
  return timings;
}

Json UsageJson(const GenerationCost& cost) {
  return {{"prompt_tokens", cost.prompt_tokens},
          {"completion_tokens", cost.generated_tokens},
          {"total_tokens", cost.prompt_tokens + cost.generated_tokens},
          {"prompt_tokens_details", {{"cached_tokens", cost.reused_tokens}}},
          {"completion_tokens_details", {{"reasoning_tokens", cost.reasoning_tokens}}}};
}

void AddProgress(size_t processed_tokens, GenerationCost cost, bool with_timings, Json* told) {
  (*told)["prompt_progress"] = {{"total", cost.prompt_tokens},
                                {"cache", cost.reused_tokens},
                                {"processed", processed_tokens},
                                {"time_ms", cost.prompt_ms}};
  if (!with_timings) return;
  // Nothing has been computed yet where all of the tokens were reused.
  cost.prompt_tokens = std::max(processed_tokens, cost.reused_tokens);
  if (cost.prefill_tokens() == 0) cost.prompt_ms = 0;
  (*told)["timings"] = TimingsJson(cost);
}

void AddAnswerCost(size_t answer, const GenerationCost& cost, GenerationCost* all) {
  const GenerationCost before = *all;
  if (answer == 0) *all = cost;
  if (answer > 0) all->generated_tokens = cost.generated_tokens;
  all->generated_tokens += before.generated_tokens;
  if (answer > 0) all->reasoning_tokens = before.reasoning_tokens + cost.reasoning_tokens;
  if (answer > 0) all->drafted_tokens = before.drafted_tokens + cost.drafted_tokens;
  if (answer > 0) all->accepted_tokens = before.accepted_tokens + cost.accepted_tokens;
  all->generated_ms = std::max(before.generated_ms, cost.generated_ms);
}

void AddPromptCost(const GenerationCost& cost, GenerationCost* all) {
  all->prompt_tokens += cost.prompt_tokens;
  all->reused_tokens += cost.reused_tokens;
  all->queue_ms = std::max(all->queue_ms, cost.queue_ms);
  all->prompt_ms += cost.prompt_ms;
  all->generated_tokens += cost.generated_tokens;
  all->reasoning_tokens += cost.reasoning_tokens;
  all->generated_ms = std::max(all->generated_ms, cost.generated_ms);
  all->drafted_tokens += cost.drafted_tokens;
  all->accepted_tokens += cost.accepted_tokens;
  all->shifted_tokens += cost.shifted_tokens;
}

}  // namespace cairn
