#include "sched/draft/stored_text.h"

#include <algorithm>
#include <vector>

namespace cairn {
namespace {

// No token of any vocabulary.
constexpr Token kNoToken = -1;

}  // namespace

StoredText::StoredText(const std::vector<Tokens>& texts) {
  for (const Tokens& text : texts) {
    tokens_.insert(tokens_.end(), text.begin(), text.end());
    tokens_.push_back(kNoToken);
  }
  index_.Extend(tokens_);
}

TokenSpan StoredText::After(TokenSpan ngram, size_t tokens_max) const {
  const auto found = index_.Find(tokens_, ngram);
  if (!found) return {};
  const TokenSpan rest = TokenSpan(tokens_).subspan(*found);
  const TokenSpan most = rest.first(std::min(rest.size(), tokens_max));
  const auto end = std::find(most.begin(), most.end(), kNoToken);
  return most.first(static_cast<size_t>(end - most.begin()));
}

}  // namespace cairn
