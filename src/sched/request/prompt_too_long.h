// PromptTooLong: makes the error for a prompt that the context cannot hold. There is one text,
// because clients match it and then shorten the conversation.
//
// Pure; any thread.

#ifndef CAIRN_SCHED_REQUEST_PROMPT_TOO_LONG_H_
#define CAIRN_SCHED_REQUEST_PROMPT_TOO_LONG_H_

#include <cstddef>
#include <string>

#include "base/result.h"

namespace cairn {

// Returns a kTooLong error. `tokens`: the prompt's length in words, such as "9000" or "at least
// 9000".
Error PromptTooLong(const std::string& tokens, size_t context_tokens);

}  // namespace cairn

#endif  // CAIRN_SCHED_REQUEST_PROMPT_TOO_LONG_H_
