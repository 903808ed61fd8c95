// StoredText: the tokens of recently used conversations, with an index of their n-grams. An answer
// that repeats a file which another conversation read is drafted from there.
//
// Shared by the answers of a namespace (sched/steps/speculation.h), constant.

#ifndef CAIRN_SCHED_DRAFT_STORED_TEXT_H_
#define CAIRN_SCHED_DRAFT_STORED_TEXT_H_

#include <cstddef>
#include <vector>

#include "base/tokens.h"
#include "sched/draft/ngram_index.h"

namespace cairn {

class StoredText {
 public:
  // The tokens of an n-gram.
  static constexpr size_t kNgramTokens = 8;

  StoredText() = default;  // empty
  // The texts do not run into one another.
  explicit StoredText(const std::vector<Tokens>& texts);

  // Returns at most `tokens_max` tokens that followed `ngram`. REQUIRES: it has kNgramTokens.
  TokenSpan After(TokenSpan ngram, size_t tokens_max) const;

 private:
  Tokens tokens_;  // with kNoToken between the texts
  NgramIndex index_{kNgramTokens};
};

}  // namespace cairn

#endif  // CAIRN_SCHED_DRAFT_STORED_TEXT_H_
