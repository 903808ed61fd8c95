// Tokenizes a prompt's text: special texts that a client wrote stay text, and known answers keep
// the tokens they were generated as.

#ifndef CAIRN_API_LLAMA_SERVER_PROMPT_TOKENS_H_
#define CAIRN_API_LLAMA_SERVER_PROMPT_TOKENS_H_

#include <memory>
#include <span>

#include "api/answer/answer_tokens.h"
#include "api/media/media_layouts.h"
#include "chat/template/prompt_text.h"
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

// Returns the prompt's tokens. `answers` are in order and do not overlap. Without literals and
// answers the whole text is tokenized at once. The tokens of `media`, which are in order too, stand
// in their places; an answer that overlaps one is tokenized as text. If the tokenizer
// would insert a space in front of the text after an answer, the answer is tokenized as text.
// Errors are those of Engine::Tokenize. Any thread.
Result<Tokens> TokenizePrompt(const Engine& engine, const SpecialTexts& specials,
                              const PromptText& prompt, bool adds_bos,
                              std::span<const KnownAnswer> answers,
                              std::span<const KnownMedium> media = {});

}  // namespace cairn

#endif  // CAIRN_API_LLAMA_SERVER_PROMPT_TOKENS_H_
