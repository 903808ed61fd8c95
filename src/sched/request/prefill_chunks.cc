#include "sched/request/prefill_chunks.h"

#include <algorithm>

#include "base/check.h"

namespace cairn {
namespace {

// Whether the boundary ends no chunk: the beginning of the reply follows it, and nothing else.
bool PassesBoundary(const PromptCuts& cuts, const ChunkRules& rules, size_t boundary) {
  return rules.passes_last_boundary && cuts.tokens() - boundary <= kTailTokensMax &&
         cuts.BoundaryAfter(boundary) == cuts.tokens();
}

// Returns where the next chunk ends if neither the ubatch nor a checkpoint cuts it.
size_t NaturalEnd(const PromptCuts& cuts, const ChunkRules& rules, size_t position) {
  if (!cuts.Has(position)) {
    const size_t later = EndOffCuts(cuts, rules, position);
    return later - position <= rules.chunk_tokens_max ? later : cuts.After(position);
  }
  const size_t boundary = cuts.BoundaryAfter(position);
  const size_t last = cuts.AtOrBefore(boundary - 1);
  // Where every position is a cut, none has to end a chunk.
  if (position < last && cuts.grid_tokens() > 1) return last;
  return PassesBoundary(cuts, rules, boundary) ? cuts.tokens() : boundary;
}

// From a cut, chunks of full steps of the grid have the same bits wherever they end.
size_t EndAsWanted(const PromptCuts& cuts, const ChunkRules& rules, size_t position, size_t end) {
  if (end - position <= rules.wanted_tokens || !cuts.Has(position)) return end;
  const size_t cut = cuts.AtOrBefore(position + std::max(rules.wanted_tokens, cuts.grid_tokens()));
  return cut > position ? std::min(cut, end) : end;
}

}  // namespace

size_t EndOffCuts(const PromptCuts& cuts, const ChunkRules& rules, size_t position) {
  const size_t rest_end = rules.needed_stop > position ? rules.needed_stop : cuts.tokens();
  const size_t medium = cuts.MediumAfter(position);
  if (rest_end - position <= rules.turn_tokens_max) return std::min(rest_end, medium);
  return cuts.FirstAfterAnswer(position, rules.off_cut_min);
}

size_t NextChunkEnd(const PromptCuts& cuts, const ChunkRules& rules, size_t position, size_t stop,
                    bool is_clean) {
  CHECK(position < cuts.tokens());
  if (cuts.IsMedium(position)) return cuts.BoundaryAfter(position);
  // A chunk of text never has a token of a medium: those are no tokens of the vocabulary.
  const size_t medium = cuts.MediumAfter(position);
  if (rules.whole_behind_clean && !(is_clean && cuts.Has(position))) {
    return std::min(position + rules.chunk_tokens_max, medium);
  }
  size_t end = std::min(NaturalEnd(cuts, rules, position), medium);
  const bool passes_stop =
      stop > 0 && cuts.BoundaryAtOrBefore(stop) == stop && PassesBoundary(cuts, rules, stop);
  if (stop > position && cuts.Has(position) && !passes_stop) {
    const size_t before = cuts.AtOrBefore(stop);
    end = std::min(end, before > position ? before : stop);
  }
  if (end - position <= rules.chunk_tokens_max) return EndAsWanted(cuts, rules, position, end);
  const size_t cut = cuts.AtOrBefore(position + rules.chunk_tokens_max);
  // A ubatch smaller than the grid cannot stay on it.
  end = cut > position ? cut : position + rules.chunk_tokens_max;
  return EndAsWanted(cuts, rules, position, end);
}

}  // namespace cairn
