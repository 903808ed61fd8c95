// The tokens of requests, for routers: POST /v1/chat/completions/render, /v1/completions/render,
// /v1/messages/render and /v1/responses/render, as vLLM answers them. They take the body of the
// request itself and return the tokens that the server would compute, under the ids of the KV
// events (tree/token_ids.h). A router compares both and sends the request where most of them are.
//
//   {"request_id": "…", "token_ids": [1, 2, …], "model": "…", "stream": false}
//
// The one of completions returns a list of those, one for each prompt. Media are token ids like
// others, made from their content, so there are no `features`.
//
// Threads: any.

#ifndef CAIRN_API_RENDER_RENDER_H_
#define CAIRN_API_RENDER_RENDER_H_

#include <functional>
#include <string>
#include <string_view>

#include "api/api_error.h"
#include "api/openai/stored_responses.h"
#include "api/service/chat_service.h"
#include "sched/request/generation_request.h"
#include "tree/token_ids.h"

namespace cairn {

struct RenderContext {
  const GenerationParams* defaults = nullptr;
  const TokenIds* ids = nullptr;
  StoredResponses* responses = nullptr;  // null: none are stored
  std::string_view model = {};           // the server's name of it
};

struct RenderRequest {
  std::string_view body;
  NamespaceId name_space = 0;
  std::string id = {};
  std::function<bool()> gone = {};  // whether its client has left; may be empty
};

// Errors are those of the request itself.
ApiResult<std::string> RenderChatBody(const ChatService& service, const RenderContext& context,
                                      const RenderRequest& request);
ApiResult<std::string> RenderMessagesBody(const ChatService& service, const RenderContext& context,
                                          const RenderRequest& request);
ApiResult<std::string> RenderResponsesBody(const ChatService& service, const RenderContext& context,
                                           const RenderRequest& request);
ApiResult<std::string> RenderCompletionBody(const ChatService& service,
                                            const RenderContext& context,
                                            const RenderRequest& request);

}  // namespace cairn

#endif  // CAIRN_API_RENDER_RENDER_H_
