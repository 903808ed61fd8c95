// The body of POST /v1/responses, OpenAI's newer form of a conversation, read.
//
//   instructions                              -> a system message at the front
//   input "…"                                 -> a user message
//   input[i] message                          -> a message of its role
//   input[i] reasoning, message, function_call, … -> one assistant message, as far as they follow
//                                                    in the order of an answer
//   input[i] function_call_output             -> a tool message
//
// Nothing is stored for a client between requests: `previous_response_id` and the like are errors.

#ifndef CAIRN_API_RESPONSES_REQUEST_H_
#define CAIRN_API_RESPONSES_REQUEST_H_

#include <map>
#include <string>

#include "api/chat_request.h"
#include "api/json.h"
#include "sched/scheduler.h"

namespace cairn {

struct ResponsesRequest {
  ChatRequest chat;
  // Tools that came inside a namespace, by name: a call of one must name its namespace too.
  std::map<std::string, std::string> namespaces;
};

// `defaults` are the server's own for what the client leaves open. Fields and kinds of items that
// nobody here knows are ignored; a known field of the wrong type is an error that names it.
ApiResult<ResponsesRequest> ParseResponsesRequest(const Json& body,
                                                  const GenerationParams& defaults);

}  // namespace cairn

#endif  // CAIRN_API_RESPONSES_REQUEST_H_
