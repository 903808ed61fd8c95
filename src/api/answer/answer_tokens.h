// AnswerTokens: the tokens that answers were generated as. An answer that comes back in a later
// prompt is then those tokens again, whatever a tokeniser would make of its text, so that what was
// computed for it still fits:
//
//   generated   [aa][a]                 the slot and its checkpoints hold these
//   sent back   "aaa"  -> tokenised [a][aa]: the prefix would part here
//
// An answer is found by the prompt it was given to (namespace, text, literals) and stands there
// when its text follows. A template that writes an answer in another way does not match, and
// nothing happens.

#ifndef CAIRN_API_ANSWER_ANSWER_TOKENS_H_
#define CAIRN_API_ANSWER_ANSWER_TOKENS_H_

#include <cstddef>
#include <cstdint>
#include <list>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/tokens.h"
#include "cache/checkpoint_cache.h"
#include "chat/template/prompt_text.h"
#include "engine/engine.h"

namespace cairn {

// What an answer was generated as; its text is what its tokens' pieces give.
struct GeneratedAnswer {
  Tokens tokens;
  std::string text;
  std::vector<size_t> ends;  // of each token's piece in the text
};

// `stop_text`: what ended the answer, or nothing; neither it nor what came with it was sent, so it
// is no part of the answer.
GeneratedAnswer MakeGeneratedAnswer(const Engine& engine, TokenSpan tokens,
                                    std::string_view stop_text);

// Where a prompt has an answer that is known.
struct KnownAnswer {
  TextRange range;
  Tokens tokens;
};

// Which prompt an answer was given to. A hash finds it; that the answer stands in a prompt is
// decided by its text alone, so a hash that is met by chance changes no text.
struct PromptKey {
  size_t bytes = 0;
  uint64_t hash = 0;
};
PromptKey KeyOf(const PromptText& prompt);

// Any thread.
class AnswerTokens {
 public:
  // The oldest are forgotten when more than `bytes_max` are held; an answer that comes back is
  // young again.
  explicit AnswerTokens(size_t bytes_max) : bytes_max_(bytes_max) {}

  void Remember(NamespaceId name_space, const PromptKey& prompt, GeneratedAnswer answer);
  // In order, apart from each other. White space at the end of an answer may be missing.
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
  using Place = std::pair<NamespaceId, size_t>;  // and the bytes of the prompt

  void Forget(Entries::iterator entry);

  const size_t bytes_max_;
  mutable std::mutex mutex_;
  Entries entries_;                                   // youngest first; guarded by mutex_
  std::multimap<Place, Entries::iterator> by_place_;  // guarded by mutex_
  size_t bytes_ = 0;                                  // guarded by mutex_
};

}  // namespace cairn

#endif  // CAIRN_API_ANSWER_ANSWER_TOKENS_H_
