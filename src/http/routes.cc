#include "http/routes.h"

#include <memory>
#include <string>
#include <utility>

#include "api/json.h"
#include "api/openai.h"
#include "api/wall_clock.h"

namespace cairn {
namespace {

HttpResponse ErrorResponse(const ApiError& error) {
  HttpResponse response;
  response.status = error.status;
  response.body = ErrorBody(error);
  return response;
}

HttpResponse ToResponse(ApiResult<std::string> body) {
  if (!body) return ErrorResponse(body.error());
  HttpResponse response;
  response.body = std::move(*body);
  return response;
}

HttpResponse Loading() {
  return ErrorResponse(ToApiError({ErrorCode::kUnavailable, "Loading model"}));
}

AnswerIdentity NewIdentity(Served& served) {
  AnswerIdentity identity;
  identity.created_unix_s = NowUnixS();
  identity.id = "chatcmpl-" + std::to_string(served.model.started_unix_s) + "-" +
                std::to_string(++served.answers);
  identity.model = served.model.alias;
  return identity;
}

HttpResponse ChatCompletions(const ChatService& service, Served& served,
                             const HttpRequest& http_request) {
  const auto body = ParseBody(http_request.body);
  if (!body) return ErrorResponse(body.error());
  auto request = ParseChatRequest(*body, served.defaults);
  if (!request) return ErrorResponse(request.error());
  // Every key is a namespace of its own; so is having none.
  const auto name_space = static_cast<NamespaceId>(http_request.key_index + 1);
  const bool streams = request->stream;
  const bool include_usage = request->include_usage;
  auto chat = service.Start(std::move(*request), name_space);
  if (!chat) return ErrorResponse(chat.error());
  if (!streams) {
    return ToResponse(CollectChat(std::move(*chat), NewIdentity(served), http_request.gone));
  }
  auto stream = std::make_shared<ChatStream>(std::move(*chat), NewIdentity(served), include_usage);
  HttpResponse response;
  response.content_type = "text/event-stream";
  response.headers = {{"Cache-Control", "no-cache"}};
  response.stream.next = [stream](std::string* chunk) { return stream->Next(chunk); };
  response.stream.on_gone = [stream] { stream->Cancel(); };
  return response;
}

using ServiceHandler =
    std::function<HttpResponse(const ChatService& service, const HttpRequest& request)>;

// A handler for once the model is there.
HttpHandler WhenLoaded(const Served* served, ServiceHandler handler) {
  return [served, handler = std::move(handler)](const HttpRequest& request) {
    const ChatService* service = served->service.load(std::memory_order_acquire);
    return service == nullptr ? Loading() : handler(*service, request);
  };
}

}  // namespace

std::string HttpErrorBody(int status, std::string_view message) {
  ApiError error;
  error.status = status;
  error.type = ErrorType(status);
  error.message = message;
  return ErrorBody(error);
}

void AddRoutes(HttpServer* server, Served* served) {
  const auto health = WhenLoaded(served, [](const ChatService&, const HttpRequest&) {
    HttpResponse response;
    response.body = R"({"status":"ok"})";
    return response;
  });
  const auto models = WhenLoaded(served, [served](const ChatService& service, const HttpRequest&) {
    return ToResponse(ModelsBody(service, served->model));
  });
  for (const char* path : {"/health", "/v1/health"}) {
    server->Handle("GET", path, health, HttpAccess::kPublic);
  }
  for (const char* path : {"/v1/models", "/models"}) {
    server->Handle("GET", path, models, HttpAccess::kPublic);
  }
  server->Handle("GET", "/props",
                 WhenLoaded(served, [served](const ChatService& service, const HttpRequest&) {
                   return ToResponse(PropsBody(service, served->defaults, served->model));
                 }));
  const auto chat =
      WhenLoaded(served, [served](const ChatService& service, const HttpRequest& request) {
        return ChatCompletions(service, *served, request);
      });
  for (const char* path : {"/v1/chat/completions", "/chat/completions"}) {
    server->Handle("POST", path, chat);
  }
  const auto text_route = [&](const char* path, ApiResult<std::string> (*answer)(
                                                    const ChatService&, std::string_view)) {
    server->Handle(
        "POST", path,
        WhenLoaded(served, [answer](const ChatService& service, const HttpRequest& request) {
          return ToResponse(answer(service, request.body));
        }));
  };
  text_route("/tokenize", TokenizeBody);
  text_route("/detokenize", DetokenizeBody);
  text_route("/apply-template", ApplyTemplateBody);
}

}  // namespace cairn
