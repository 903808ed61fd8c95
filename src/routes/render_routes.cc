#include "routes/render_routes.h"

#include <string>
#include <utility>

#include "api/anthropic/anthropic.h"
#include "api/render/render.h"
#include "routes/api_response.h"

namespace cairn {
namespace {

using Render = ApiResult<std::string> (*)(const ChatService& service, const RenderContext& context,
                                          const RenderRequest& request);

struct RenderRoute {
  const char* path;
  Render render;
  const char* id_prefix;  // of the answers to the request that is rendered
  ErrorWording wording = ErrorBody;
};

HttpResponse AnswerRendering(Served* served, const RenderRoute& route,
                             const HttpRequest& http_request) {
  const ChatService* const service = served->service.load(std::memory_order_acquire);
  if (service == nullptr) {
    const Error loading = {ErrorCode::kUnavailable, served->not_ready.load()};
    return ErrorResponse(ToApiError(loading), route.wording);
  }
  static const TokenIds kPlain;
  const RenderContext context{&served->defaults,
                              served->kv_events == nullptr ? &kPlain : &served->kv_events->ids(),
                              served->responses.get(), served->model.alias};
  RenderRequest request{http_request.body, http_request.key_number};
  request.gone = http_request.gone;
  request.id = route.id_prefix + std::to_string(served->model.started_unix_s) + "-" +
               std::to_string(++served->answers);
  auto body = route.render(*service, context, request);
  if (!body) return ErrorResponse(body.error(), route.wording);
  HttpResponse response;
  response.body = *std::move(body);
  return response;
}

}  // namespace

void AddRenderRoutes(HttpServer* server, Served* served) {
  const RenderRoute routes[] = {
      {"/v1/chat/completions/render", RenderChatBody, "chatcmpl-"},
      {"/v1/completions/render", RenderCompletionBody, "cmpl-"},
      {"/v1/messages/render", RenderMessagesBody, "msg_", MessagesErrorBody},
      {"/v1/responses/render", RenderResponsesBody, "resp_"},
  };
  for (const RenderRoute& route : routes) {
    server->Handle("POST", route.path, [served, route](const HttpRequest& request) {
      return AnswerRendering(served, route, request);
    });
  }
}

}  // namespace cairn
