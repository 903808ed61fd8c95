#include "policy/divergence.h"

#include <algorithm>

namespace cairn {

Divergence DescribeDivergence(const PromptShape& shape, size_t diverged_at, size_t stored_tokens,
                              size_t stored_turns) {
  Divergence divergence;
  divergence.stored_tokens = stored_tokens;
  divergence.diverged_at = diverged_at;
  divergence.prompt_tokens = shape.tokens;
  const auto after =
      std::upper_bound(shape.turns.begin(), shape.turns.end(), diverged_at,
                       [](size_t position, const Turn& turn) { return position < turn.position; });
  if (diverged_at < shape.header_end) {
    divergence.diverged_in = DivergedIn::kHeader;
    divergence.tokens_into_message = diverged_at;
  } else if (shape.header_end > 0 && diverged_at < shape.header_end + kBoundaryTokens) {
    divergence.diverged_in = DivergedIn::kHeaderEnd;
    divergence.tokens_into_message = diverged_at - shape.header_end;
  } else if (after != shape.turns.begin()) {
    const Turn& turn = *(after - 1);
    divergence.diverged_in = turn.by_user ? DivergedIn::kUser : DivergedIn::kTool;
    divergence.tokens_into_message = diverged_at - turn.position;
  }
  const size_t shared_turns = static_cast<size_t>(after - shape.turns.begin());
  if (shared_turns > 0 && stored_turns >= shared_turns) {
    divergence.turns_from_end = stored_turns - shared_turns;
  }
  return divergence;
}

}  // namespace cairn
