// The body of POST /v1/messages, Anthropic's form of a conversation, read.
//
//   system                             -> a system message at the front
//   messages[i].role "system"          -> a system message, where it stands
//   user: tool_result, …, text, …      -> a tool message for each result, then a user message
//   assistant: thinking, text, tool_use -> one assistant message with reasoning, text and calls
//   tools[i] {name, input_schema}      -> OpenAI's form; a tool without a schema is the service's
//                                         own (web search, …) and is left out
//
// `cache_control` becomes a mark of the message it is in; `tool_choice` leaves the tools as they
// are. Signatures and fields that nobody here knows are ignored: clients send many.

#ifndef CAIRN_API_ANTHROPIC_ANTHROPIC_REQUEST_H_
#define CAIRN_API_ANTHROPIC_ANTHROPIC_REQUEST_H_

#include "api/json.h"
#include "api/openai/chat_request.h"
#include "chat/message.h"
#include "sched/scheduler.h"

namespace cairn {

// `defaults` are the server's own for what the client leaves open. A known field of the wrong type
// is an error that names it.
ApiResult<ChatRequest> ParseMessagesRequest(const Json& body, const GenerationParams& defaults);

// `system`, `messages`, `tools` and `thinking` alone: what a prompt is rendered from.
ApiResult<Conversation> ParseMessagesConversation(const Json& body);

}  // namespace cairn

#endif  // CAIRN_API_ANTHROPIC_ANTHROPIC_REQUEST_H_
