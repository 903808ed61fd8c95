#include "sched/steps/stored_texts.h"

#include <algorithm>

#include "cache/objects/stored_prefixes.h"

namespace cairn {
namespace {

// Indexing a token takes some ten nanoseconds.
constexpr size_t kTextTokensMax = 128 * 1024;
constexpr double kRemakeMs = 2000;
// Most namespaces of a server with many keys are idle.
constexpr size_t kNameSpacesMax = 16;

}  // namespace

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
