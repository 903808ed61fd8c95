// PromptTooLong: how a prompt that the context cannot hold is refused. One text, because clients
// look for it: they shorten the conversation when they read it.
//
// Pure; any thread.

#ifndef CAIRN_SCHED_PROMPT_TOO_LONG_H_
#define CAIRN_SCHED_PROMPT_TOO_LONG_H_

#include <cstddef>
#include <string>

#include "base/result.h"

namespace cairn {

// kTooLong. `tokens`: of the prompt, as a reader is told: "9000", "at least 9000".
Error PromptTooLong(const std::string& tokens, size_t context_tokens);

}  // namespace cairn

#endif  // CAIRN_SCHED_PROMPT_TOO_LONG_H_
