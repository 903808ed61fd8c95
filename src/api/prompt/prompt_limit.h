// PromptLimit: what is far too long for the context is refused before it is rendered and tokenised,
// which takes many times its size in memory.

#ifndef CAIRN_API_PROMPT_PROMPT_LIMIT_H_
#define CAIRN_API_PROMPT_PROMPT_LIMIT_H_

#include <cstddef>

#include "api/api_error.h"
#include "chat/message.h"
#include "engine/engine.h"

namespace cairn {

// Bytes that the prompt of `conversation` has at least: every template has the text of user and
// tool messages in it.
size_t PromptBytesMin(const Conversation& conversation);

// An error when no tokenizer could make a prompt of `bytes` that fits: a token stands for at most
// ModelInfo::token_bytes_max. Exact words are left to the count of tokens.
ApiResult<void> CheckPromptBytes(const Engine& engine, size_t bytes);

}  // namespace cairn

#endif  // CAIRN_API_PROMPT_PROMPT_LIMIT_H_
