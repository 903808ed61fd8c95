// From a prompt's text to its tokens: special texts that a client wrote stay text, and answers that
// are known keep the tokens they were generated as.

#ifndef CAIRN_API_LLAMA_SERVER_PROMPT_TOKENS_H_
#define CAIRN_API_LLAMA_SERVER_PROMPT_TOKENS_H_

#include <span>

#include "api/answer/answer_tokens.h"
#include "chat/template/prompt_text.h"
#include "engine/engine.h"

namespace cairn {

// The texts of all tokens that the model's tokenizer makes only when told to look for them.
// Walks over the whole vocabulary. Texts that it always looks for, such as the tags of reasoning
// and tool calls in many models, are none of them: no tokenizer call keeps them text.
SpecialTexts FindSpecialTexts(const Engine& engine);

// Any thread. `answers` are in order and apart. Without literals and answers these are the tokens
// of the whole text at once. Where the tokenizer would put a space of its own in front of what
// follows an answer, the answer is tokenised as text.
// Errors: those of Engine::Tokenize.
Result<Tokens> TokenizePrompt(const Engine& engine, const SpecialTexts& specials,
                              const PromptText& prompt, bool adds_bos,
                              std::span<const KnownAnswer> answers);

}  // namespace cairn

#endif  // CAIRN_API_LLAMA_SERVER_PROMPT_TOKENS_H_
