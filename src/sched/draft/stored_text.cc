#include "sched/draft/stored_text.h"

#include <algorithm>
#include <vector>

#include "cache/stored_prefixes.h"

namespace cairn {
namespace {

// No token of any vocabulary.
constexpr Token kNoToken = -1;

// Indexing a token takes some ten nanoseconds.
constexpr size_t kTextTokensMax = 128 * 1024;
constexpr double kRemakeMs = 2000;
// Most namespaces of a server with many keys are idle.
constexpr size_t kNameSpacesMax = 16;

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

std::vector<Tokens> StoredTexts::TextsOf(NamespaceId name_space) const {
  std::vector<Tokens> texts =
      FindStoredTexts(*pool_->cache().objects(), name_space, kTextTokensMax);
  // The newest text comes last, because the last occurrence of an n-gram is found.
  std::reverse(texts.begin(), texts.end());
  for (const SlotPool::Entry& entry : pool_->entries()) {
    if (entry.slot.name_space() != name_space) continue;
    const TokenSpan held = entry.slot.tokens();
    const TokenSpan kept = held.last(std::min(held.size(), kTextTokensMax / pool_->size()));
    texts.emplace_back(kept.begin(), kept.end());
  }
  return texts;
}

std::shared_ptr<const StoredText> StoredTexts::Of(NamespaceId name_space) {
  const double now_ms = pool_->NowMs();
  const auto found = made_.find(name_space);
  if (found != made_.end()) {
    if (now_ms - found->second.made_ms < kRemakeMs) return found->second.text;
  } else if (made_.size() == kNameSpacesMax) {
    made_.erase(std::min_element(made_.begin(), made_.end(), [](const auto& a, const auto& b) {
      return a.second.made_ms < b.second.made_ms;
    }));
  }
  const auto text = std::make_shared<const StoredText>(TextsOf(name_space));
  made_[name_space] = {text, now_ms};
  return text;
}

}  // namespace cairn
