#include "sched/context/prompt_rules.h"

#include <algorithm>

namespace cairn {

size_t BoundaryGapDivisor(const MemoryTraits& traits, ReuseMode reuse) {
  // Where `live` can truncate the memory at any token, an edit does not go back to a boundary.
  constexpr size_t kWhereTruncated = 16;
  // Elsewhere it goes back by at most 1.6 % of the prompt.
  constexpr size_t kElsewhere = 64;
  return reuse == ReuseMode::kLive && !traits.NeedsSnapshots() ? kWhereTruncated : kElsewhere;
}

bool CutsAtMessages(const MemoryTraits& traits, ReuseMode reuse) {
  return reuse == ReuseMode::kExact ? traits.exact_at_messages : traits.cuts_at_messages;
}

// Where no grid was found, chunks are cut on the usual one. `exact` then reuses nothing
// (Restorer::Resume).
CutRules CutRulesOf(const Model& model, const SchedulerOptions& options) {
  if (options.reuse == ReuseMode::kAny) return {1};
  const MemoryTraits& traits = model.traits();
  CutRules rules;
  rules.grid_tokens = traits.grid_tokens > 0 ? traits.grid_tokens : kUsualGridTokens;
  if (CutsAtMessages(traits, options.reuse)) rules.message_starts = options.message_starts;
  rules.gap_divisor = options.boundary_gap_divisor;
  return rules;
}

ChunkRules PromptRules::chunk_rules() const {
  const bool needs_snapshots = model_->traits().NeedsSnapshots();
  ChunkRules rules;
  rules.chunk_tokens_max = model_->chunk_tokens_max();
  rules.off_cut_min = ChunkAfterAnswerMin(needs_snapshots, cuts_.grid_tokens);
  rules.turn_tokens_max =
      TurnTokensMax(reuse_, needs_snapshots, cuts_.grid_tokens, rules.chunk_tokens_max);
  rules.whole_behind_clean = !needs_snapshots && reuse_ == ReuseMode::kLive;
  return rules;
}

size_t PromptRules::FirstStop(const Slot& slot, const PromptCuts& of_prompt) const {
  const size_t end = slot.tokens().size();
  const ChunkRules rules = chunk_rules();
  const size_t first = std::max(of_prompt.FirstAfterAnswer(end, rules.off_cut_min), end + 1);
  // A short turn is one chunk, and it is not known which turn will come.
  return of_prompt.Has(end) ? first : std::max(first, end + rules.turn_tokens_max + 1);
}

}  // namespace cairn
