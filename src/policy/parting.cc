#include "policy/parting.h"

#include <algorithm>

namespace cairn {

Parting DescribeParting(const PromptShape& shape, size_t parted_at, size_t stored_tokens,
                        size_t stored_turns) {
  Parting parting;
  parting.stored_tokens = stored_tokens;
  parting.parted_at = parted_at;
  parting.prompt_tokens = shape.tokens;
  const auto after =
      std::upper_bound(shape.turns.begin(), shape.turns.end(), parted_at,
                       [](size_t position, const Turn& turn) { return position < turn.position; });
  if (parted_at < shape.header_end) {
    parting.parted_in = PartedIn::kHeader;
    parting.tokens_into_message = parted_at;
  } else if (shape.header_end > 0 && parted_at < shape.header_end + kBoundaryTokens) {
    parting.parted_in = PartedIn::kHeaderEnd;
    parting.tokens_into_message = parted_at - shape.header_end;
  } else if (after != shape.turns.begin()) {
    const Turn& turn = *(after - 1);
    parting.parted_in = turn.by_user ? PartedIn::kUser : PartedIn::kTool;
    parting.tokens_into_message = parted_at - turn.position;
  }
  const size_t shared_turns = static_cast<size_t>(after - shape.turns.begin());
  if (shared_turns > 0 && stored_turns >= shared_turns) {
    parting.turns_from_end = stored_turns - shared_turns;
  }
  return parting;
}

}  // namespace cairn
