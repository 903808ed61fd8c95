#include "routes/request_routes.h"

#include <string>
#include <utility>
#include <vector>

#include "api/anthropic/anthropic.h"
#include "api/render/render.h"
#include "api/wall_clock.h"
#include "http/keys.h"
#include "routes/answering.h"
#include "sched/request/adapter_name_space.h"

namespace cairn {
namespace {

// The number of a key is its namespace.
static_assert(kApiKeysMax == kKeysMax);

std::vector<NamespaceId> SeenBy(const HttpRequest& request) {
  if (request.is_admin) return {request.key_number, 0};
  return {request.key_number};
}

ApiResult<std::string> ListRequests(const Served& served, const HttpRequest& request) {
  return RequestsBody(served.request_log, request.params, request.key_number,
                      RefusedFor(served.refusals, request));
}

ApiResult<std::string> FindRequest(const Served& served, const HttpRequest& request) {
  const Json refused = FindRefused(served.refusals, request);
  if (!refused.is_null()) return ToText(refused);
  return served.request_log.Find(request.captures.at("id"), request.key_number);
}

// Nothing keeps it: a cache between the server and its clients may not know their keys. No page of
// another site may show it either.
HttpResponse Thumbnail(const Served& served, const HttpRequest& request) {
  const auto thumbnail = served.request_log.FindThumbnail(
      request.captures.at("id"), request.captures.at("index"), request.key_number);
  if (!thumbnail) return ErrorResponse(thumbnail.error());
  HttpResponse response;
  response.content_type = "image/png";
  response.body.assign((*thumbnail)->begin(), (*thumbnail)->end());
  response.headers = {{"Cache-Control", "no-store"},
                      {"X-Content-Type-Options", "nosniff"},
                      {"Cross-Origin-Resource-Policy", "same-origin"}};
  return response;
}

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

void AddRequestRoutes(HttpServer* server, Served* served) {
  server->Handle("GET", "/cairn/requests", [served](const HttpRequest& request) {
    return ToResponse(ListRequests(*served, request));
  });
  server->Handle("GET", "/cairn/doctor", [served](const HttpRequest& request) {
    return ToResponse(
        DoctorBody(served->request_log, request.params, request.key_number, NowUnixS()));
  });
  server->Handle("GET", "/cairn/requests/:id", [served](const HttpRequest& request) {
    return ToResponse(FindRequest(*served, request));
  });
  server->Handle("GET", "/cairn/requests/:id/thumbnails/:index",
                 [served](const HttpRequest& request) { return Thumbnail(*served, request); });
}

std::vector<Json> RefusedFor(const Refusals& refusals, const HttpRequest& request) {
  std::vector<Json> refused;
  for (const NamespaceId name_space : SeenBy(request)) refused.push_back(refusals.List(name_space));
  return refused;
}

Json FindRefused(const Refusals& refusals, const HttpRequest& request) {
  for (const NamespaceId name_space : SeenBy(request)) {
    Json refused = refusals.Find(request.captures.at("id"), name_space);
    if (!refused.is_null()) return refused;
  }
  return {};
}

std::function<void(const HttpRefusal& refusal)> NoteIn(Refusals* refusals) {
  return [refusals](const HttpRefusal& refusal) {
    refusals->Note({refusal.status, refusal.method, refusal.path, refusal.route, refusal.message,
                    refusal.remote, refusal.key_number});
  };
}

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
