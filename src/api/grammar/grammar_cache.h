// GrammarCache: what was made of schemas and grammars before. A client sends the same schema with
// each request; it is translated and parsed once.
//
//   schema  -> rules in GBNF, and what they do not enforce
//   rules   -> Grammar

#ifndef CAIRN_API_GRAMMAR_GRAMMAR_CACHE_H_
#define CAIRN_API_GRAMMAR_GRAMMAR_CACHE_H_

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "api/api_error.h"
#include "api/grammar/json_schema.h"
#include "base/memory/kept_by_key.h"
#include "base/result.h"
#include "engine/grammar/grammar.h"

namespace cairn {

// Any thread. Two threads that ask for the same at once may both make it.
class GrammarCache {
 public:
  static constexpr size_t kBytesMax = size_t{64} << 20U;

  // Keeps at most `bytes_max` bytes, its keys included; evicts the least recently used.
  explicit GrammarCache(size_t bytes_max = kBytesMax) : made_(bytes_max) {}

  using Make = std::function<ApiResult<std::string>(Loosened* loosened)>;
  // Returns the rules that `make` made for this key, now or before, and adds what they do not
  // enforce to `loosened`, which may be null. Errors are those of `make`, and are not kept.
  ApiResult<std::string> Rules(const std::string& key, Loosened* loosened, const Make& make);
  // As Grammar::Parse.
  Result<std::shared_ptr<const Grammar>> Parse(const std::string& rules,
                                               std::string_view root = "root");

  size_t bytes() const { return made_.bytes(); }

 private:
  struct Made {
    std::string rules = {};
    Loosened loosened = {};
    std::shared_ptr<const Grammar> grammar = {};  // of a key that is rules
  };

  KeptByKey<Made> made_;
};

// The same with a cache that may be null.
ApiResult<std::string> RulesOf(GrammarCache* cache, const std::string& key, Loosened* loosened,
                               const GrammarCache::Make& make);
Result<std::shared_ptr<const Grammar>> ParsedGrammar(GrammarCache* cache, const std::string& rules,
                                                     std::string_view root = "root");

}  // namespace cairn

#endif  // CAIRN_API_GRAMMAR_GRAMMAR_CACHE_H_
