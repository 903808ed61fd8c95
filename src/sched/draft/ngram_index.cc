#include "sched/draft/ngram_index.h"

#include <algorithm>
#include <bit>
#include <vector>

#include "base/check.h"
#include "base/hash.h"

namespace cairn {

namespace {

constexpr size_t kPlacesMin = 1024;

}  // namespace

size_t NgramIndex::PlaceOf(TokenSpan ngram) const {
  return Hash64(ngram.data(), ngram.size_bytes()) & (ends_.size() - 1);
}

void NgramIndex::Add(TokenSpan text, size_t end) {
  ends_[PlaceOf(text.subspan(end - n_, n_))] = static_cast<uint32_t>(end);
}

void NgramIndex::Grow(TokenSpan text) {
  // More than half of the places stay free, so that few n-grams are overwritten.
  ends_.assign(std::bit_ceil(std::max(kPlacesMin, 4 * text.size())), 0);
  for (size_t end = n_; end <= added_; ++end) Add(text, end);
}

void NgramIndex::Extend(TokenSpan text) {
  if (text.size() < added_) {
    ends_.clear();
    added_ = 0;
  }
  if (text.size() < n_) return;
  if (2 * text.size() > ends_.size()) Grow(text);
  for (size_t end = std::max(added_ + 1, n_); end <= text.size(); ++end) Add(text, end);
  added_ = text.size();
}

std::optional<size_t> NgramIndex::Find(TokenSpan text, TokenSpan ngram) const {
  CHECK(ngram.size() == n_);
  if (ends_.empty()) return std::nullopt;
  const size_t end = ends_[PlaceOf(ngram)];
  if (end < n_ || end > text.size()) return std::nullopt;
  const TokenSpan found = text.subspan(end - n_, n_);
  if (!std::equal(found.begin(), found.end(), ngram.begin())) return std::nullopt;
  return end;
}

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
