// Tokenizes a prompt's text: special texts that a client wrote stay text, and known answers keep
// the tokens they were generated as.

#ifndef CAIRN_API_PROMPT_PROMPT_TOKENS_H_
#define CAIRN_API_PROMPT_PROMPT_TOKENS_H_

#include <cstddef>
#include <memory>
#include <span>
#include <string_view>

#include "api/media/media_layouts.h"
#include "api/prompt/answer_tokens.h"
#include "base/memory/kept_by_key.h"
#include "cache/objects/segment_index.h"
#include "chat/spans/prompt_text.h"
#include "engine/engine.h"

namespace cairn {

// Returns the texts of all tokens that the tokenizer produces only with parse_special. Walks over
// the whole vocabulary. Texts that the tokenizer always parses, such as the tags of reasoning and
// tool calls in many models, are not included: no tokenizer call keeps them as text.
SpecialTexts FindSpecialTexts(const Engine& engine);

// A place of a medium in the text, and the medium's tokens.
struct KnownMedium {
  TextRange range;
  std::shared_ptr<const LaidOutMedium> layout;
};

// KnownTokens: the tokens of texts that were tokenized before. Every turn of a conversation sends
// all that stood before it again, and to tokenize 200 kB takes 100 ms and more. Known answers cut a
// prompt into texts that are the same in the next turn, but for the last:
//
//   system, tools, user | answer | user | answer | user            a turn
//   system, tools, user | answer | user | answer | user | answer | user     the next one
//   '------ known -----'          '-----'          '-----'          '-----' tokenized
//
// Threads: any.
class KnownTokens {
 public:
  // Shorter texts are tokenized as fast as they are found.
  static constexpr size_t kTextBytesMin = 128;

  // Keeps at most `bytes_max` bytes of texts and tokens; evicts the least recently used.
  explicit KnownTokens(size_t bytes_max = size_t{32} << 20U) : tokens_(bytes_max) {}

  // Returns what Engine::Tokenize gives for the text. Namespaces do not see by the time it takes
  // what others have sent.
  Result<Tokens> Tokenize(const Engine& engine, NamespaceId name_space, std::string_view text,
                          bool add_special, bool parse_special);
  size_t bytes() const { return tokens_.bytes(); }

 private:
  KeptByKey<Tokens> tokens_;  // by the text, and how it was tokenized
};

// Tells TokenizePrompt where to look up tokens and to keep them. Null: it tokenizes everything.
struct KnownTexts {
  KnownTokens* tokens = nullptr;
  NamespaceId name_space = 0;
};

// Returns the prompt's tokens. `answers` are in order and do not overlap. Without literals and
// answers the whole text is tokenized at once. The tokens of `media`, which are in order too, stand
// in their places; an answer that overlaps one is tokenized as text. If the tokenizer
// would insert a space in front of the text after an answer, the answer is tokenized as text.
// Errors are those of Engine::Tokenize. Any thread.
Result<Tokens> TokenizePrompt(const Engine& engine, const SpecialTexts& specials,
                              const PromptText& prompt, bool adds_bos,
                              std::span<const KnownAnswer> answers,
                              std::span<const KnownMedium> media = {},
                              const KnownTexts& known = {});

}  // namespace cairn

#endif  // CAIRN_API_PROMPT_PROMPT_TOKENS_H_
