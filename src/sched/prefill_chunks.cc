#include "sched/prefill_chunks.h"

#include <algorithm>

#include "base/check.h"

namespace cairn {
namespace {

// Returns where the next chunk ends if neither the ubatch nor a checkpoint cuts it.
size_t NaturalEnd(const PromptCuts& cuts, const ChunkRules& rules, size_t position) {
  if (!cuts.Has(position)) {
    const size_t later = cuts.FirstAfterAnswer(position, rules.off_cut_min);
    return later - position <= rules.chunk_tokens_max ? later : cuts.After(position);
  }
  const size_t boundary = cuts.BoundaryAfter(position);
  const size_t last = cuts.AtOrBefore(boundary - 1);
  return position < last ? last : boundary;
}

}  // namespace

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
  if (stop > position && cuts.Has(position)) {
    const size_t before = cuts.AtOrBefore(stop);
    end = std::min(end, before > position ? before : stop);
  }
  if (end - position <= rules.chunk_tokens_max) return end;
  const size_t cut = cuts.AtOrBefore(position + rules.chunk_tokens_max);
  // A ubatch smaller than the grid cannot stay on it.
  return cut > position ? cut : position + rules.chunk_tokens_max;
}

}  // namespace cairn
