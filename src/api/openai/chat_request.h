// The body of POST /v1/chat/completions, read.

#ifndef CAIRN_API_OPENAI_CHAT_REQUEST_H_
#define CAIRN_API_OPENAI_CHAT_REQUEST_H_

#include <string>

#include "api/answer_options.h"
#include "api/grammar/tool_choice.h"
#include "api/json.h"
#include "chat/message.h"
#include "sched/scheduler.h"

namespace cairn {

struct ChatRequest {
  Conversation conversation;
  GenerationParams params;
  bool stream = false;
  AnswerOptions options;
  bool reuse = true;  // `cache_prompt`
  // What the answer's content must be, in GBNF with a rule "root"; empty: anything. The service
  // makes it params.sampling.grammar, as it knows whether reasoning comes before.
  std::string grammar;
  ToolChoice tool_choice;
};

// `defaults` are the server's own for what the client leaves open. Fields nobody here knows are
// ignored, as clients send many; a known field of the wrong type is an error that names it.
ApiResult<ChatRequest> ParseChatRequest(const Json& body, const GenerationParams& defaults);

// The sampling fields, limits and stop texts of a request of any kind.
ApiResult<GenerationParams> ParseGenerationParams(const Json& body,
                                                  const GenerationParams& defaults);

// GBNF that the answer's content must follow, from `response_format`, `json_schema` or `grammar`;
// empty when there is none.
ApiResult<std::string> ParseAnswerGrammar(const Json& body);

// The same from `response_format`, or from Responses' `text.format`; `field` names it in errors.
ApiResult<std::string> ParseAnswerFormat(const Json& format, const std::string& field);

// `messages`, `tools`, `chat_template_kwargs` and `reasoning_effort` alone: what a prompt is
// rendered from.
ApiResult<Conversation> ParseConversation(const Json& body);

}  // namespace cairn

#endif  // CAIRN_API_OPENAI_CHAT_REQUEST_H_
