// The vocabulary of synthetic models: a token is a byte, and its id is the byte's value. Five
// special tokens follow the 256 bytes. Valid UTF-8 has as many tokens as bytes; libllama replaces
// invalid bytes by U+FFFD before the vocabulary sees them.
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
// The reasoning marks are plain text in output, so they are not control tokens.
inline constexpr Token kThinkStartToken = 259;  // <think>
inline constexpr Token kThinkEndToken = 260;    // </think>
inline constexpr Token kVocabularySize = 261;

// The infill tokens follow the special ones if a model is made with them. Their texts are those
// of Qwen2.5-Coder.
inline constexpr Token kInfillPrefixToken = 261;      // <|fim_prefix|>
inline constexpr Token kInfillMiddleToken = 262;      // <|fim_middle|>
inline constexpr Token kInfillSuffixToken = 263;      // <|fim_suffix|>
inline constexpr Token kInfillPaddingToken = 264;     // <|fim_pad|>
inline constexpr Token kInfillRepositoryToken = 265;  // <|repo_name|>
inline constexpr Token kInfillSeparatorToken = 266;   // <|file_sep|>
inline constexpr Token kInfillVocabularySize = 267;

// Returns the tokenizer.* keys of a GGUF file, chat template included. `infill`: with its tokens.
Metadata VocabularyMetadata(bool infill = false);

// Returns the tokenizer.* keys of an encoder: WordPiece with the special tokens of BERT, each
// letter, digit and punctuation mark of ASCII, and some words. All else is [UNK].
Metadata EncoderVocabularyMetadata();

// The same with the kind of vocabulary and the special tokens of XLM-RoBERTa: pieces of text, each
// with a score, of which the best sum is taken.
Metadata UnigramVocabularyMetadata();

// Returns the prompt of a rerank model for a query and a document, in the format of
// Qwen3-Reranker's file: a text with {query} and {document}.
std::string_view SyntheticRerankTemplate();

// Returns the chat template, in Jinja: ChatML that strips old reasoning. An assistant message shows
// its reasoning (reasoning_content, or the text between <think> and </think> in its content) only
// after the last user message. Tool definitions are in the system block, tool results in a user
// turn. `enable_thinking: false` begins the answer with empty reasoning.
std::string_view SyntheticChatTemplate();

}  // namespace cairn

#endif  // CAIRN_LAB_MAKER_MODEL_VOCABULARY_H_
