// Parses the body of POST /v1/chat/completions.

#ifndef CAIRN_API_REQUEST_CHAT_REQUEST_H_
#define CAIRN_API_REQUEST_CHAT_REQUEST_H_

#include <string>

#include "api/grammar/json_schema.h"
#include "api/grammar/tool_choice.h"
#include "api/json.h"
#include "api/media/media_rules.h"
#include "api/request/answer_options.h"
#include "chat/text/message.h"
#include "sched/request/generation_request.h"

namespace cairn {

class GrammarCache;

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
  // Keywords of schemas that the grammar does not enforce.
  Loosened loosened = {};
  ToolChoice tool_choice;
};

// `defaults` apply to fields that the request leaves out. Unknown fields are ignored, because
// clients send many; a known field of the wrong type is an error that names it. `rules` are the
// server's for images and recordings; the default takes none. `cache` may be null.
ApiResult<ChatRequest> ParseChatRequest(const Json& body, const GenerationParams& defaults,
                                        const MediaRules& rules = {},
                                        GrammarCache* cache = nullptr);

// Parses the sampling fields, limits and stop texts of any request. `path` precedes their names in
// errors, such as "options.".
ApiResult<GenerationParams> ParseGenerationParams(const Json& body,
                                                  const GenerationParams& defaults,
                                                  const std::string& path = "");

// Parses only `messages`, `tools`, `chat_template_kwargs` and `reasoning_effort`, from which the
// prompt is rendered.
ApiResult<Conversation> ParseConversation(const Json& body, const MediaRules& rules = {});

}  // namespace cairn

#endif  // CAIRN_API_REQUEST_CHAT_REQUEST_H_
