// Parses the body of POST /v1/messages, Anthropic's form of a conversation.
//
//   system                             -> a system message at the front
//   messages[i].role "system"          -> a system message, where it stands
//   user: tool_result, …, text, …      -> a tool message for each result, then a user message
//   assistant: thinking, text, tool_use -> one assistant message with reasoning, text and calls
//   tools                              -> OpenAI's form (api/anthropic/anthropic_tools.h)
//   output_config.format               -> the grammar of the answer's text, as of
//   `response_format`;
//                                         `output_format` is its older name
//   context_management                 -> what is cleared before the prompt is made
//
// `cache_control` becomes a mark of its message; `tool_choice` does not change the tools in the
// prompt. Signatures and unknown fields are ignored, because clients send many.

#ifndef CAIRN_API_ANTHROPIC_ANTHROPIC_REQUEST_H_
#define CAIRN_API_ANTHROPIC_ANTHROPIC_REQUEST_H_

#include "api/json.h"
#include "api/media/media_rules.h"
#include "api/request/chat_request.h"
#include "chat/text/message.h"
#include "sched/request/generation_request.h"

namespace cairn {

// `defaults` apply to fields that the request leaves out. A known field of the wrong type is an
// error that names it. `rules` are the server's for images; the default takes none. `cache` may be
// null.
ApiResult<ChatRequest> ParseMessagesRequest(const Json& body, const GenerationParams& defaults,
                                            const MediaRules& rules = {},
                                            GrammarCache* cache = nullptr);

// Parses only `system`, `messages`, `tools`, `thinking` and `context_management`, from which the
// prompt is rendered.
ApiResult<Conversation> ParseMessagesConversation(const Json& body, const MediaRules& rules = {});

}  // namespace cairn

#endif  // CAIRN_API_ANTHROPIC_ANTHROPIC_REQUEST_H_
