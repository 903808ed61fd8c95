#include "api/grammar/grammar_cache.h"

#include <utility>

namespace cairn {

ApiResult<std::string> GrammarCache::Rules(const std::string& key, Loosened* loosened,
                                           const Make& make) {
  // Rules and grammars have keys of their own.
  const std::string own = "r" + key;
  auto entry = Find(own);
  if (entry == nullptr) {
    Entry made{own};
    auto rules = make(&made.loosened);
    if (!rules) return rules;
    made.rules = *std::move(rules);
    made.bytes = own.size() + made.rules.size() + sizeof(Entry);
    for (const std::string& place : made.loosened) made.bytes += place.size() + sizeof(place);
    entry = std::make_shared<const Entry>(std::move(made));
    Keep(entry);
  }
  if (loosened != nullptr) loosened->insert(entry->loosened.begin(), entry->loosened.end());
  return entry->rules;
}

Result<std::shared_ptr<const Grammar>> GrammarCache::Parse(const std::string& rules,
                                                           std::string_view root) {
  const std::string own = "g" + std::string(root) + "\n" + rules;
  if (const auto entry = Find(own)) return entry->grammar;
  auto grammar = Grammar::Parse(rules, root);
  if (!grammar) return grammar;
  Entry made{own};
  made.grammar = *grammar;
  made.bytes = own.size() + (*grammar)->bytes() + sizeof(Entry);
  Keep(std::make_shared<const Entry>(std::move(made)));
  return grammar;
}

std::shared_ptr<const GrammarCache::Entry> GrammarCache::Find(const std::string& key) {
  const std::lock_guard lock(mutex_);
  const auto found = by_key_.find(key);
  if (found == by_key_.end()) return nullptr;
  entries_.splice(entries_.begin(), entries_, found->second);
  return *found->second;
}

void GrammarCache::Keep(std::shared_ptr<const Entry> entry) {
  const std::lock_guard lock(mutex_);
  if (entry->bytes > bytes_max_ || by_key_.contains(entry->key)) return;
  bytes_ += entry->bytes;
  entries_.push_front(std::move(entry));
  by_key_.emplace(entries_.front()->key, entries_.begin());
  while (bytes_ > bytes_max_) {
    const auto& last = entries_.back();
    bytes_ -= last->bytes;
    by_key_.erase(last->key);
    entries_.pop_back();
  }
}

size_t GrammarCache::bytes() const {
  const std::lock_guard lock(mutex_);
  return bytes_;
}

ApiResult<std::string> RulesOf(GrammarCache* cache, const std::string& key, Loosened* loosened,
                               const GrammarCache::Make& make) {
  return cache == nullptr ? make(loosened) : cache->Rules(key, loosened, make);
}

Result<std::shared_ptr<const Grammar>> ParsedGrammar(GrammarCache* cache, const std::string& rules,
                                                     std::string_view root) {
  return cache == nullptr ? Grammar::Parse(rules, root) : cache->Parse(rules, root);
}

}  // namespace cairn
