// StoredText: the tokens of recently used conversations, with an index of their n-grams. An answer
// that repeats a file which another conversation read is drafted from there.
//
// Made by StoredTexts, shared by the answers of a namespace, constant.
//
// StoredTexts: makes a namespace's StoredText from its prefix cache and the slots, and again after
// two seconds.
//
// Threads: the context thread.

#ifndef CAIRN_SCHED_DRAFT_STORED_TEXT_H_
#define CAIRN_SCHED_DRAFT_STORED_TEXT_H_

#include <cstddef>
#include <map>
#include <memory>
#include <vector>

#include "base/provenance.h"
#include "base/tokens.h"
#include "sched/draft/ngram_index.h"
#include "sched/slots/slot_pool.h"

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

class StoredTexts {
 public:
  // `pool` must outlive this object.
  explicit StoredTexts(const SlotPool* pool) : pool_(pool) {}

  std::shared_ptr<const StoredText> Of(NamespaceId name_space);

 private:
  struct Made {
    std::shared_ptr<const StoredText> text;
    double made_ms = 0;
  };

  std::vector<Tokens> TextsOf(NamespaceId name_space) const;

  const SlotPool* const pool_;
  std::map<NamespaceId, Made> made_;
};

}  // namespace cairn

#endif  // CAIRN_SCHED_DRAFT_STORED_TEXT_H_
