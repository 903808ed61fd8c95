// The vocabulary of synthetic models: a token is a byte, and its id is the byte's value. After the
// 256 bytes come five special tokens. Whatever is valid UTF-8 becomes as many tokens as it has
// bytes; libllama turns bytes that are not UTF-8 into U+FFFD before any vocabulary sees them.
//
// Pure functions: any thread.

#ifndef CAIRN_LAB_MAKER_MODEL_VOCABULARY_H_
#define CAIRN_LAB_MAKER_MODEL_VOCABULARY_H_

#include "base/tokens.h"
#include "lab/maker/model_recipe.h"

namespace cairn {

inline constexpr Token kByteTokens = 256;
inline constexpr Token kEndOfTextToken = 256;  // <|endoftext|>
inline constexpr Token kTurnStartToken = 257;  // <|im_start|>
inline constexpr Token kTurnEndToken = 258;    // <|im_end|>, ends an answer
// The marks around reasoning are plain text to a reader, so they are not control tokens.
inline constexpr Token kThinkStartToken = 259;  // <think>
inline constexpr Token kThinkEndToken = 260;    // </think>
inline constexpr Token kVocabularySize = 261;

// Behind these, where they are asked for, the tokens for filling in, with the texts that
// Qwen2.5-Coder has for them.
inline constexpr Token kInfillPrefixToken = 261;      // <|fim_prefix|>
inline constexpr Token kInfillMiddleToken = 262;      // <|fim_middle|>
inline constexpr Token kInfillSuffixToken = 263;      // <|fim_suffix|>
inline constexpr Token kInfillPaddingToken = 264;     // <|fim_pad|>
inline constexpr Token kInfillRepositoryToken = 265;  // <|repo_name|>
inline constexpr Token kInfillSeparatorToken = 266;   // <|file_sep|>
inline constexpr Token kInfillVocabularySize = 267;

// The tokenizer.* keys of a GGUF file, chat template included. `infill`: with the tokens for it.
Metadata VocabularyMetadata(bool infill = false);

// How a query and a document become a prompt for a model that ranks, as Qwen3-Reranker's file says
// it: a text with {query} and {document}.
std::string_view SyntheticRerankTemplate();

// The chat template, in Jinja. ChatML, with old reasoning stripped: an assistant message shows its
// reasoning (reasoning_content, or what stands between <think> and </think> in its content) only
// after the last user message. Tool definitions stand in the system block; tool results in a user
// turn. `enable_thinking: false` begins the answer with empty reasoning.
std::string_view SyntheticChatTemplate();

}  // namespace cairn

#endif  // CAIRN_LAB_MAKER_MODEL_VOCABULARY_H_
