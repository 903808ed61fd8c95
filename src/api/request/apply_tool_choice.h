// ApplyToolChoice: enforces a request's tool_choice.

#ifndef CAIRN_API_REQUEST_APPLY_TOOL_CHOICE_H_
#define CAIRN_API_REQUEST_APPLY_TOOL_CHOICE_H_

#include "api/api_error.h"
#include "api/grammar/grammar_cache.h"
#include "api/request/chat_request.h"
#include "chat/template/chat_template.h"

namespace cairn {

// Sets the request's grammar if a call is forced, and lets the grammar of a format allow calls too
// if they are not. Returns the tools whose calls the answer is parsed for; empty if calls are not
// parsed. `cache` is for this template alone, and may be null. Any thread.
ApiResult<Tools> ApplyToolChoice(const ChatTemplate& chat_template, ChatRequest* request,
                                 GrammarCache* cache = nullptr);

}  // namespace cairn

#endif  // CAIRN_API_REQUEST_APPLY_TOOL_CHOICE_H_
