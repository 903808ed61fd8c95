#include "http/routes.h"

#include <memory>
#include <string>
#include <utility>

#include "api/completion.h"
#include "api/json.h"
#include "api/metrics.h"
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

AnswerIdentity NewIdentity(Served& served, std::string_view prefix) {
  AnswerIdentity identity;
  identity.created_unix_s = NowUnixS();
  identity.id = std::string(prefix) + std::to_string(served.model.started_unix_s) + "-" +
                std::to_string(++served.answers);
  identity.model = served.model.alias;
  return identity;
}

// Every key is a namespace of its own; so is having none.
NamespaceId AskerOf(const HttpRequest& request) {
  return static_cast<NamespaceId>(request.key_index + 1);
}

template <typename Stream>
HttpResponse StreamResponse(const std::shared_ptr<Stream>& stream) {
  HttpResponse response;
  response.content_type = "text/event-stream";
  response.headers = {{"Cache-Control", "no-cache"}};
  response.stream.next = [stream](std::string* chunk) { return stream->Next(chunk); };
  response.stream.on_gone = [stream] { stream->Cancel(); };
  return response;
}

HttpResponse ChatCompletions(const ChatService& service, Served& served,
                             const HttpRequest& http_request) {
  const auto body = ParseBody(http_request.body);
  if (!body) return ErrorResponse(body.error());
  auto request = ParseChatRequest(*body, served.defaults);
  if (!request) return ErrorResponse(request.error());
  const NamespaceId name_space = AskerOf(http_request);
  const bool streams = request->stream;
  const bool include_usage = request->include_usage;
  auto chat = service.Start(std::move(*request), name_space);
  if (!chat) return ErrorResponse(chat.error());
  if (!streams) {
    return ToResponse(
        CollectChat(std::move(*chat), NewIdentity(served, "chatcmpl-"), http_request.gone));
  }
  return StreamResponse(std::make_shared<ChatStream>(
      std::move(*chat), NewIdentity(served, "chatcmpl-"), include_usage));
}

HttpResponse Completions(const ChatService& service, Served& served, CompletionDialect dialect,
                         const HttpRequest& http_request) {
  const auto body = ParseBody(http_request.body);
  if (!body) return ErrorResponse(body.error());
  auto request = ParseCompletion(service.engine(), *body, served.defaults, dialect);
  if (!request) return ErrorResponse(request.error());
  const bool streams = request->stream;
  auto started = StartCompletion(service, std::move(*request), dialect,
                                 NewIdentity(served, "cmpl-"), AskerOf(http_request));
  if (!started) return ErrorResponse(started.error());
  if (!streams) return ToResponse(CollectCompletion(*started, http_request.gone));
  return StreamResponse(std::make_shared<CompletionStream>(std::move(*started)));
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
  const auto completion_route = [&](const char* path, CompletionDialect dialect) {
    server->Handle("POST", path,
                   WhenLoaded(served, [served, dialect](const ChatService& service,
                                                        const HttpRequest& request) {
                     return Completions(service, *served, dialect, request);
                   }));
  };
  completion_route("/v1/completions", CompletionDialect::kOpenAi);
  completion_route("/completion", CompletionDialect::kNative);
  completion_route("/completions", CompletionDialect::kNative);
  server->Handle("GET", "/slots",
                 WhenLoaded(served, [](const ChatService& service, const HttpRequest&) {
                   return ToResponse(SlotsBody(service));
                 }));
  server->Handle("GET", "/metrics",
                 WhenLoaded(served, [](const ChatService& service, const HttpRequest&) {
                   HttpResponse response = ToResponse(MetricsText(service.stats()));
                   response.content_type = "text/plain; version=0.0.4; charset=utf-8";
                   return response;
                 }));
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
