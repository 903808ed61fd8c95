#include "routes/ollama_routes.h"

#include <memory>
#include <utility>

#include "api/json.h"
#include "api/ollama/ollama_answer.h"
#include "api/ollama/ollama_embed.h"
#include "api/ollama/ollama_models.h"
#include "api/ollama/ollama_request.h"
#include "routes/answering.h"

namespace cairn {
namespace {

HttpResponse Refused(const ApiError& error) {
  return ErrorResponse(error, OllamaErrorBody);
}

HttpResponse LinesResponse(std::string lines) {
  HttpResponse response;
  response.content_type = OllamaStream::kContentType;
  response.body = std::move(lines);
  return response;
}

ApiResult<OllamaRequest> Parse(const ChatService& service, const Served& served, bool is_chat,
                               const HttpRequest& http_request) {
  const auto body = ParseBody(http_request.body);
  if (!body) return tl::unexpected(body.error());
  const MediaRules rules = service.MediaRulesUntil(http_request.gone);
  auto request = is_chat ? ParseOllamaChat(*body, served.defaults, rules, service.grammars())
                         : ParseOllamaGenerate(*body, served.defaults, rules, service.grammars());
  if (!request) return request;
  const auto there = CheckOllamaModel(served.model, request->model);
  if (!there) return tl::unexpected(there.error());
  return request;
}

HttpResponse Answer(const ChatService& service, Served& served, bool is_chat,
                    const HttpRequest& http_request) {
  auto request = Parse(service, served, is_chat, http_request);
  if (!request) return Refused(request.error());
  const bool streams = request->stream;
  if (request->is_empty) return OllamaEmptyResponse(*request, is_chat);
  UseGrammar(served, &request->chat);
  const bool explain = request->chat.options.explain;
  OllamaForm form = FormOf(*request, is_chat);
  auto chat = StartOllama(service, *std::move(request), served.infill, NamespaceOf(http_request));
  if (!chat) return Refused(chat.error());
  NotePrompt(*chat, &form);
  const Begun begun = Begin("ollama-", served, service, http_request, explain, &*chat);
  form.id = begun.identity.id;
  if (!streams) {
    return WholeResponse(CollectOllama(std::move(*chat), form, http_request.gone), *begun.record,
                         OllamaErrorBody);
  }
  const auto failure = FailureBeforeStream(served, http_request, chat->generation.get());
  if (failure) return Refused(*failure);
  return StreamResponse(served, std::make_shared<OllamaStream>(std::move(*chat), std::move(form)));
}

void AddDescriptions(HttpServer* server, Served* served) {
  server->Handle(
      "GET", "/api/version", [](const HttpRequest&) { return ToResponse(OllamaVersionBody()); },
      HttpAccess::kPublic);
  server->Handle("GET", "/api/tags",
                 WhenLoaded(
                     served,
                     [served](const ChatService& service, const HttpRequest&) {
                       return ToResponse(OllamaTagsBody(service, served->model));
                     },
                     OllamaErrorBody),
                 HttpAccess::kPublic);
  server->Handle("GET", "/api/ps",
                 WhenLoaded(
                     served,
                     [served](const ChatService& service, const HttpRequest&) {
                       return ToResponse(OllamaPsBody(service, served->model));
                     },
                     OllamaErrorBody));
  server->Handle("POST", "/api/show",
                 WhenLoaded(
                     served,
                     [served](const ChatService& service, const HttpRequest& request) {
                       const OllamaAbilities abilities = {served->embedder != nullptr,
                                                          &served->infill, &served->defaults};
                       return ToResponse(
                           OllamaShowBody(service, served->model, abilities, request.body),
                           OllamaErrorBody);
                     },
                     OllamaErrorBody));
  server->Handle("POST", "/api/pull", [served](const HttpRequest& request) {
    const auto name = OllamaModelIn(request.body);
    return OllamaPullResponse(name ? CheckOllamaModel(served->model, *name)
                                   : ApiResult<void>(tl::unexpected(name.error())));
  });
}

void AddEmbedRoutes(HttpServer* server, Served* served) {
  const auto add = [&](const char* path, auto answer) {
    server->Handle("POST", path,
                   WhenOpen(
                       served,
                       [served, answer](const ChatService& service, const HttpRequest& request) {
                         const OllamaEmbedding embedding = {&service.engine(), served->embedder,
                                                            &served->model, &served->clock};
                         return ToResponse(answer(embedding, request.body, request.gone),
                                           OllamaErrorBody);
                       },
                       OllamaErrorBody));
  };
  add("/api/embed", OllamaEmbedBody);
  add("/api/embeddings", OllamaEmbeddingsBody);
}

}  // namespace

void AddOllamaRoutes(HttpServer* server, Served* served) {
  AddDescriptions(server, served);
  for (const bool is_chat : {true, false}) {
    server->Handle("POST", is_chat ? "/api/chat" : "/api/generate",
                   WhenOpen(
                       served,
                       [served, is_chat](const ChatService& service, const HttpRequest& request) {
                         return Answer(service, *served, is_chat, request);
                       },
                       OllamaErrorBody));
  }
  AddEmbedRoutes(server, served);
  AddOllamaRefusals(server);
}

void AddOllamaRefusals(HttpServer* server) {
  const auto add = [&](const char* method, const char* path) {
    server->Handle(method, path, [](const HttpRequest& request) {
      return Refused(NoOllamaChange(request.path));
    });
  };
  for (const char* path : {"/api/push", "/api/create", "/api/copy", "/api/blobs/:id"}) {
    add("POST", path);
  }
  add("DELETE", "/api/delete");
  // Asked for with HEAD: whether a file is there already.
  server->Handle("GET", "/api/blobs/:id", [](const HttpRequest&) {
    return Refused(ToApiError({ErrorCode::kNotFound, "this server keeps no files for clients"}));
  });
}

HttpResponse OllamaEmptyResponse(const OllamaRequest& request, bool is_chat) {
  std::string body = OllamaEmptyBody(request, is_chat);
  return request.stream ? LinesResponse(std::move(body)) : ToResponse(std::move(body));
}

HttpResponse OllamaPullResponse(ApiResult<void> there) {
  auto body = OllamaPullBody(std::move(there));
  if (!body) return Refused(body.error());
  return LinesResponse(*std::move(body));
}

HttpResponse OllamaIsRunning() {
  HttpResponse response;
  response.content_type = "text/plain; charset=utf-8";
  response.body = "Ollama is running";
  return response;
}

}  // namespace cairn
