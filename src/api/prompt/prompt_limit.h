// PromptLimit: refuses a conversation that is far too long for the context before it is rendered
// and tokenized, which would take many times its size in memory.

#ifndef CAIRN_API_PROMPT_PROMPT_LIMIT_H_
#define CAIRN_API_PROMPT_PROMPT_LIMIT_H_

#include <cstddef>

#include "api/api_error.h"
#include "chat/message.h"
#include "engine/engine.h"

namespace cairn {

// Returns a lower bound of the prompt's bytes: every template contains the text of user and tool
// messages. Markers of media are not counted.
size_t PromptBytesMin(const Conversation& conversation);

// Returns an error if a prompt of `bytes` cannot fit, because a token has at most
// ModelInfo::token_bytes_max bytes. Prompts that pass are checked again by their number of tokens.
ApiResult<void> CheckPromptBytes(const Engine& engine, size_t bytes);

}  // namespace cairn

#endif  // CAIRN_API_PROMPT_PROMPT_LIMIT_H_
