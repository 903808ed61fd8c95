#include "chat/spans/token_map.h"

#include <algorithm>

namespace cairn {

TokenMap::TokenMap(std::string_view text, std::span<const std::string> pieces,
                   size_t leading_tokens)
    : leading_tokens_(std::min(leading_tokens, pieces.size())) {
  starts_.push_back(0);
  for (std::string_view piece : pieces.subspan(leading_tokens_)) {
    const std::string_view rest = text.substr(agreed_bytes_);
    if (!rest.starts_with(piece) && piece.starts_with(' ')) piece.remove_prefix(1);
    if (!rest.starts_with(piece)) break;
    agreed_bytes_ += piece.size();
    starts_.push_back(agreed_bytes_);
  }
}

std::optional<size_t> TokenMap::PositionAt(size_t offset) const {
  if (offset > agreed_bytes_) return std::nullopt;
  // Tokens without bytes are at the position of the next one: the first of them counts.
  const auto after = std::upper_bound(starts_.begin(), starts_.end(), offset);
  const auto start = std::lower_bound(starts_.begin(), after, *(after - 1));
  return leading_tokens_ + static_cast<size_t>(start - starts_.begin());
}

std::optional<size_t> TokenMap::OffsetAt(size_t position) const {
  if (position < leading_tokens_) return 0;
  const size_t index = position - leading_tokens_;
  if (index >= starts_.size()) return std::nullopt;
  return starts_[index];
}

}  // namespace cairn
