#include "sched/prefill_chunks.h"

#include <algorithm>

#include "base/check.h"
#include "cache/resume.h"

namespace cairn {

size_t NextChunkEnd(const ChunkRules& rules, size_t position, size_t prompt_tokens, size_t stop) {
  CHECK(position < prompt_tokens);
  const size_t grid = rules.grid_tokens;
  size_t first_cut = position;
  if (position % grid != 0) {
    first_cut = position - position % grid + grid;
    const size_t later = FirstCutAfter(position, grid);
    if (rules.long_after_answer && later - position <= rules.chunk_tokens_max) first_cut = later;
  }
  const size_t last_cut = LastCut(prompt_tokens, grid);
  size_t end = prompt_tokens;
  if (position < last_cut && first_cut <= last_cut) end = last_cut;
  if (stop > position) end = std::min(end, stop);
  if (first_cut > position) end = std::min(end, first_cut);
  if (end - position > rules.chunk_tokens_max) {
    // A ubatch smaller than the grid cannot stay on it, so the chunk is cut off the grid.
    const size_t whole = rules.chunk_tokens_max - rules.chunk_tokens_max % grid;
    end = position + (whole > 0 ? whole : rules.chunk_tokens_max);
  }
  return end;
}

}  // namespace cairn
