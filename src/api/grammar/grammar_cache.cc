#include "api/grammar/grammar_cache.h"

#include <utility>

namespace cairn {

ApiResult<std::string> GrammarCache::Rules(const std::string& key, Loosened* loosened,
                                           const Make& make) {
  // Rules and grammars have keys of their own.
  const std::string own = "r" + key;
  auto known = made_.Find(own);
  if (known == nullptr) {
    Made made;
    auto rules = make(&made.loosened);
    if (!rules) return rules;
    made.rules = *std::move(rules);
    size_t bytes = made.rules.size();
    for (const std::string& place : made.loosened) bytes += place.size() + sizeof(std::string);
    known = made_.Keep(own, std::move(made), bytes);
  }
  if (loosened != nullptr) loosened->insert(known->loosened.begin(), known->loosened.end());
  return known->rules;
}

Result<std::shared_ptr<const Grammar>> GrammarCache::Parse(const std::string& rules,
                                                           std::string_view root) {
  const std::string own = "g" + std::string(root) + "\n" + rules;
  if (const auto known = made_.Find(own)) return known->grammar;
  auto grammar = Grammar::Parse(rules, root);
  if (!grammar) return grammar;
  made_.Keep(own, {.grammar = *grammar}, (*grammar)->bytes());
  return grammar;
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
