// Parses the body of POST /v1/responses, OpenAI's newer form of a conversation.
//
//   instructions                              -> a system message at the front
//   input "…"                                 -> a user message
//   input[i] message                          -> a message of its role
//   input[i] reasoning, message, function_call, … -> one assistant message, as far as they follow
//                                                    in the order of an answer
//   input[i] function_call_output             -> a tool message
//   input[i] tool_search_output               -> a tool message with the definitions of the tools,
//                                                which may be called
//
// With `previous_response_id`, the items of that stored response and of its predecessors come
// between `instructions` and `input`. Their instructions do not, as in OpenAI's API.

#ifndef CAIRN_API_OPENAI_RESPONSES_REQUEST_H_
#define CAIRN_API_OPENAI_RESPONSES_REQUEST_H_

#include <memory>
#include <string>

#include "api/json.h"
#include "api/media/media_rules.h"
#include "api/openai/response_tools.h"
#include "api/openai/stored_responses.h"
#include "api/request/chat_request.h"
#include "sched/request/generation_request.h"

namespace cairn {

struct ResponsesRequest {
  ChatRequest chat;
  ResponseTools tools;
  bool store = true;
  // Fields of the request that the response repeats.
  Json repeated = Json::object();
};

// Returns the stored conversation that `previous_response_id` names. Null if the request continues
// none; 404 if it is not stored. `stored` is null if the server stores none.
ApiResult<std::shared_ptr<const StoredResponses::Chain>> FindPreviousResponse(
    const Json& body, NamespaceId name_space, StoredResponses* stored);

// `defaults` apply to fields that the request leaves out. Unknown fields and kinds of items are
// ignored; a known field of the wrong type is an error that names it. `history` are the stored
// turns that the request continues: their images are read again, each time. `rules` are the
// server's for images and recordings; the default takes none. `cache` may be null.
ApiResult<ResponsesRequest> ParseResponsesRequest(const Json& body,
                                                  const GenerationParams& defaults,
                                                  const ResponseTurns& history = {},
                                                  const MediaRules& rules = {},
                                                  GrammarCache* cache = nullptr);

}  // namespace cairn

#endif  // CAIRN_API_OPENAI_RESPONSES_REQUEST_H_
