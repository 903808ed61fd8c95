// AnswerTokens: remembers the tokens that answers were generated as. An answer that comes back in a
// later prompt becomes those tokens again, even where the tokenizer would split its text otherwise,
// so that its cached state still matches:
//
//   generated   [aa][a]                 the slot and its checkpoints hold these
//   sent back   "aaa"  -> tokenised [a][aa]: the prefix would part here
//
// An answer is found by the prompt that it followed (namespace, text, literals), and matches if its
// text comes next. A template that renders the answer differently does not match, and its text is
// tokenized.

#ifndef CAIRN_API_PROMPT_ANSWER_TOKENS_H_
#define CAIRN_API_PROMPT_ANSWER_TOKENS_H_

#include <cstddef>
#include <cstdint>
#include <list>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "base/tokens.h"
#include "cache/checkpoint_cache.h"
#include "chat/spans/prompt_text.h"
#include "engine/engine.h"

namespace cairn {

// An answer's tokens, and the text that they give.
struct GeneratedAnswer {
  Tokens tokens;
  std::string text;
  std::vector<size_t> ends;  // of each token's piece in the text
};

// `stop_text` is the stop text that ended the answer, or empty. Neither it nor the rest of its last
// token was sent, so they are not part of the answer.
GeneratedAnswer MakeGeneratedAnswer(const Engine& engine, TokenSpan tokens,
                                    std::string_view stop_text);

// A known answer in a prompt.
struct KnownAnswer {
  TextRange range;
  Tokens tokens;
};

// Identifies the prompt before an answer by a hash. Whether the answer occurs in a prompt is
// decided by its text alone, so a hash collision changes no text.
struct PromptKey {
  size_t bytes = 0;
  uint64_t hash = 0;
};
PromptKey KeyOf(const PromptText& prompt);

// Threads: any.
class AnswerTokens {
 public:
  // Keeps at most `bytes_max` bytes in LRU order; finding an answer counts as a use.
  explicit AnswerTokens(size_t bytes_max) : bytes_max_(bytes_max) {}

  void Remember(NamespaceId name_space, const PromptKey& prompt, GeneratedAnswer answer);
  // Returns the known answers in order, without overlaps. Trailing white space of an answer may be
  // missing in the prompt.
  std::vector<KnownAnswer> FindIn(NamespaceId name_space, const PromptText& prompt);

  size_t bytes() const;

 private:
  struct Entry {
    NamespaceId name_space = 0;
    PromptKey prompt;
    GeneratedAnswer answer;
    size_t bytes = 0;
  };
  using Entries = std::list<Entry>;
  using Place = std::pair<NamespaceId, size_t>;  // and the prompt's size in bytes

  void Forget(Entries::iterator entry) REQUIRES(mutex_);

  const size_t bytes_max_;
  mutable Mutex mutex_;
  Entries entries_ GUARDED_BY(mutex_);  // most recently used first
  std::multimap<Place, Entries::iterator> by_place_ GUARDED_BY(mutex_);
  size_t bytes_ GUARDED_BY(mutex_) = 0;
};

}  // namespace cairn

#endif  // CAIRN_API_PROMPT_ANSWER_TOKENS_H_
