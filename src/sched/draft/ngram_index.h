// NgramIndex: finds where the last tokens of a text occurred in it before.
//
//   text     … the cat sat on … the cat sat
//                  └── n = 3 ──┘            Find returns the position of "on"
//
// A table of positions, without chains: where two n-grams meet, the later one stays. So each token
// costs one write, and a match is verified against the text itself.
//
// Pure; one thread at a time.

#ifndef CAIRN_SCHED_DRAFT_NGRAM_INDEX_H_
#define CAIRN_SCHED_DRAFT_NGRAM_INDEX_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/tokens.h"

namespace cairn {

class NgramIndex {
 public:
  // `n`: the tokens of an n-gram, at least 1.
  explicit NgramIndex(size_t n) : n_(n) {}

  // Adds the tokens of `text` that are new since the last call. Where the text has become shorter,
  // all of it is new.
  void Extend(TokenSpan text);
  // Returns the position behind the latest occurrence of `ngram` in `text`, which is that of the
  // last Extend. REQUIRES: `ngram` has n tokens.
  std::optional<size_t> Find(TokenSpan text, TokenSpan ngram) const;
  size_t n() const { return n_; }

 private:
  size_t PlaceOf(TokenSpan ngram) const;
  void Add(TokenSpan text, size_t end);
  void Grow(TokenSpan text);

  const size_t n_;
  std::vector<uint32_t> ends_;  // positions behind n-grams, by hash; 0: none
  size_t added_ = 0;            // the n-grams that end at or before this position are in the table
};

// StoredText: the tokens of recently used conversations, with an index of their n-grams. An answer
// that repeats a file which another conversation read is drafted from there.
//
// Shared by the answers of a namespace (sched/steps/speculation.h), constant.
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

#endif  // CAIRN_SCHED_DRAFT_NGRAM_INDEX_H_
