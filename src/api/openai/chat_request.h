// Parses the body of POST /v1/chat/completions.

#ifndef CAIRN_API_OPENAI_CHAT_REQUEST_H_
#define CAIRN_API_OPENAI_CHAT_REQUEST_H_

#include <string>

#include "api/answer_options.h"
#include "api/grammar/tool_choice.h"
#include "api/json.h"
#include "api/media/media_rules.h"
#include "chat/message.h"
#include "sched/scheduler.h"

namespace cairn {

struct ChatRequest {
  Conversation conversation;
  GenerationParams params;
  bool stream = false;
  // `eager_input_streaming`: a stream has the arguments of calls while they are generated, so that
  // it may end with half a call. Otherwise it has whole calls.
  bool eager_calls = false;
  AnswerOptions options;
  bool reuse = true;  // `cache_prompt`
  // Grammar of the answer's content, in GBNF with a rule "root"; empty if it is free. The service
  // turns it into params.sampling.grammar, because it knows whether reasoning precedes the content.
  std::string grammar;
  // The grammar is that of a format (`response_format`, `text.format`, `output_config.format`),
  // which holds for texts: calls stay possible beside it. Otherwise it holds for whatever the model
  // writes.
  bool grammar_is_format = false;
  ToolChoice tool_choice;
};

// `defaults` apply to fields that the request leaves out. Unknown fields are ignored, because
// clients send many; a known field of the wrong type is an error that names it. `rules` are the
// server's for images and recordings; the default takes none.
ApiResult<ChatRequest> ParseChatRequest(const Json& body, const GenerationParams& defaults,
                                        const MediaRules& rules = {});

// Parses the sampling fields, limits and stop texts of any request.
ApiResult<GenerationParams> ParseGenerationParams(const Json& body,
                                                  const GenerationParams& defaults);

// Returns the GBNF that the answer's content must match, from `response_format`, `json_schema` or
// `grammar`; empty if there is none.
ApiResult<std::string> ParseAnswerGrammar(const Json& body);

// The same for `response_format`, Responses' `text.format` or Messages' `output_config.format`;
// `field` names it in errors.
ApiResult<std::string> ParseAnswerFormat(const Json& format, const std::string& field);

// Parses only `messages`, `tools`, `chat_template_kwargs` and `reasoning_effort`, from which the
// prompt is rendered.
ApiResult<Conversation> ParseConversation(const Json& body, const MediaRules& rules = {});

}  // namespace cairn

#endif  // CAIRN_API_OPENAI_CHAT_REQUEST_H_
