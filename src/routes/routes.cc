#include "routes/routes.h"

#include <memory>
#include <string>
#include <utility>

#include "api/admin/cache_api.h"
#include "api/admin/metrics.h"
#include "api/anthropic/anthropic.h"
#include "api/anthropic/anthropic_request.h"
#include "api/json.h"
#include "api/llama_server/model_catalog.h"
#include "api/ollama/ollama_models.h"
#include "api/openai/completion.h"
#include "api/openai/embeddings.h"
#include "api/openai/openai.h"
#include "api/openai/response_items.h"
#include "api/openai/responses.h"
#include "api/openai/responses_request.h"
#include "api/request/adapters.h"
#include "routes/answering.h"
#include "routes/ollama_routes.h"
#include "routes/request_routes.h"

namespace cairn {
namespace {

bool IsMessagesPath(std::string_view path) {
  constexpr std::string_view kVersion = "/v1";
  constexpr std::string_view kMessages = "/messages";
  if (path.starts_with(kVersion)) path.remove_prefix(kVersion.size());
  return path == kMessages || path.starts_with(std::string(kMessages) + "/");
}

HttpResponse ChatCompletions(const ChatService& service, Served& served,
                             const HttpRequest& http_request) {
  const auto body = ParseBody(http_request.body);
  if (!body) return ErrorResponse(body.error());
  auto request = ParseChatRequest(*body, served.defaults,
                                  service.MediaRulesUntil(http_request.gone), service.grammars());
  if (!request) return ErrorResponse(request.error());
  UseGrammar(served, &*request);
  const bool streams = request->stream;
  const AnswerOptions options = request->options;
  auto chat = service.Start(std::move(*request), NamespaceOf(http_request));
  if (!chat) return ErrorResponse(chat.error());
  Begun begun = Begin("chatcmpl-", served, service, http_request, options.explain, &*chat);
  if (!streams) {
    return WholeResponse(
        CollectChat(std::move(*chat), begun.identity, http_request.gone, options.legacy_calls),
        *begun.record);
  }
  const auto failure = FailureBeforeStream(served, http_request, chat->generation.get());
  if (failure) return ErrorResponse(*failure);
  return StreamResponse(
      served, std::make_shared<ChatStream>(std::move(*chat), std::move(begun.identity), options));
}

HttpResponse Complete(const ChatService& service, Served& served, CompletionDialect dialect,
                      const HttpRequest& http_request, ApiResult<CompletionRequest> request) {
  if (!request) return ErrorResponse(request.error());
  if (!served.grammar.empty() && request->params.sampling.grammar == nullptr) {
    auto grammar = ParsedGrammar(service.grammars(), served.grammar);
    if (!grammar) return ErrorResponse(ToApiError(grammar.error()));
    request->params.sampling.grammar = std::move(*grammar);
  }
  const bool streams = request->stream;
  auto started = StartCompletion(service, std::move(*request), dialect,
                                 NewIdentity("cmpl-", served), NamespaceOf(http_request));
  if (!started) return ErrorResponse(started.error());
  served.running.Add(started->identity.id, NamespaceOf(http_request), started->generation);
  const auto record = Record(served, service, http_request, started->identity,
                             std::move(started->explained), started->generation.get());
  if (record->Tells(started->options.explain)) started->record = record;
  if (!streams) return WholeResponse(CollectCompletion(*started, http_request.gone), *record);
  const auto failure = FailureBeforeStream(served, http_request, started->generation.get());
  if (failure) return ErrorResponse(*failure);
  return StreamResponse(served, std::make_shared<CompletionStream>(std::move(*started)));
}

HttpResponse Completions(const ChatService& service, Served& served, CompletionDialect dialect,
                         const HttpRequest& http_request) {
  const auto body = ParseBody(http_request.body);
  if (!body) return ErrorResponse(body.error());
  const NamespaceId key = NamespaceOf(http_request);
  const bool fills_gap = dialect == CompletionDialect::kOpenAi && HasSuffix(*body);
  return Complete(service, served, dialect, http_request,
                  fills_gap ? ParseSuffixCompletion(service, *body, served.defaults, served.infill)
                            : ParseCompletion(service, *body, served.defaults, dialect, key,
                                              http_request.gone));
}

HttpResponse Infill(const ChatService& service, Served& served, const HttpRequest& http_request) {
  const auto body = ParseBody(http_request.body);
  if (!body) return ErrorResponse(body.error());
  return Complete(service, served, CompletionDialect::kNative, http_request,
                  ParseInfill(service, *body, served.defaults, served.infill));
}

HttpResponse Messages(const ChatService& service, Served& served, const HttpRequest& http_request) {
  const auto body = ParseBody(http_request.body);
  if (!body) return ErrorResponse(body.error(), MessagesErrorBody);
  auto request = ParseMessagesRequest(
      *body, served.defaults, service.MediaRulesUntil(http_request.gone), service.grammars());
  if (!request) return ErrorResponse(request.error(), MessagesErrorBody);
  UseGrammar(served, &*request);
  const bool streams = request->stream;
  const bool explain = request->options.explain;
  auto chat = service.Start(std::move(*request), NamespaceOf(http_request));
  if (!chat) return ErrorResponse(chat.error(), MessagesErrorBody);
  Begun begun = Begin("msg_", served, service, http_request, explain, &*chat);
  if (streams) {
    const auto failure = FailureBeforeStream(served, http_request, chat->generation.get());
    if (failure) return ErrorResponse(*failure, MessagesErrorBody);
    return StreamResponse(
        served, std::make_shared<MessageStream>(std::move(*chat), std::move(begun.identity)));
  }
  return WholeResponse(CollectMessage(std::move(*chat), begun.identity, http_request.gone),
                       *begun.record, MessagesErrorBody);
}

// Prepares storing the response `id`, which follows `previous`.
ResponseContext ContextOf(Served& served, const ResponsesRequest& request, const Json& body,
                          const std::string& id, NamespaceId name_space,
                          std::shared_ptr<const StoredResponses::Chain> previous) {
  ResponseContext context{.repeated = request.repeated};
  if (!request.store || served.responses == nullptr) return context;
  context.on_end =
      [stored = served.responses.get(), id, name_space, previous = std::move(previous),
       input = ToText(ListedInput(body["input"], ResponseNumber(id)))](const Json& response) {
        stored->Store(name_space, {id, input, ToText(response)}, previous.get());
      };
  return context;
}

HttpResponse Responses(const ChatService& service, Served& served,
                       const HttpRequest& http_request) {
  auto body = ParseBody(http_request.body);
  if (!body) return ErrorResponse(body.error());
  const NamespaceId name_space = NamespaceOf(http_request);
  const auto resolved = ResolveReferences(&(*body)["input"], name_space, served.responses.get());
  if (!resolved) return ErrorResponse(resolved.error());
  auto previous = FindPreviousResponse(*body, name_space, served.responses.get());
  if (!previous) return ErrorResponse(previous.error());
  auto request = ParseResponsesRequest(
      *body, served.defaults, *previous ? (*previous)->turns() : ResponseTurns(),
      service.MediaRulesUntil(http_request.gone), service.grammars());
  if (!request) return ErrorResponse(request.error());
  UseGrammar(served, &request->chat);
  const bool streams = request->chat.stream;
  const AnswerOptions options = request->chat.options;
  auto chat = service.Start(std::move(request->chat), name_space);
  if (!chat) return ErrorResponse(chat.error());
  const Begun begun = Begin("resp_", served, service, http_request, options.explain, &*chat);
  ResponseContext context =
      ContextOf(served, *request, *body, begun.identity.id, name_space, std::move(*previous));
  context.options = options;
  if (!streams) {
    return WholeResponse(
        CollectResponse(std::move(*chat), begun.identity, std::move(request->tools),
                        http_request.gone, std::move(context)),
        *begun.record);
  }
  const auto failure = FailureBeforeStream(served, http_request, chat->generation.get());
  if (failure) return ErrorResponse(*failure);
  return StreamResponse(
      served, std::make_shared<ResponseStream>(std::move(*chat), begun.identity,
                                               std::move(request->tools), std::move(context)));
}

void AddCompletionRoutes(HttpServer* server, Served* served) {
  const auto add = [&](const char* path, CompletionDialect dialect) {
    server->Handle(
        "POST", path,
        WhenOpen(served, [served, dialect](const ChatService& service, const HttpRequest& request) {
          return Completions(service, *served, dialect, request);
        }));
  };
  add("/v1/completions", CompletionDialect::kOpenAi);
  add("/completion", CompletionDialect::kNative);
  add("/completions", CompletionDialect::kNative);
  server->Handle("POST", "/infill",
                 WhenOpen(served, [served](const ChatService& service, const HttpRequest& request) {
                   return Infill(service, *served, request);
                 }));
}

void AddStateRoutes(HttpServer* server, Served* served) {
  server->Handle("GET", "/props",
                 WhenLoaded(served, [served](const ChatService& service, const HttpRequest&) {
                   return ToResponse(PropsBody(service, served->defaults, served->model));
                 }));
  const Error hidden{ErrorCode::kUnsupported, "the server was started with --no-slots"};
  server->Handle("GET", "/slots",
                 WhenLoaded(served, [=](const ChatService& service, const HttpRequest&) {
                   if (!served->shows_slots) return ErrorResponse(ToApiError(hidden));
                   return ToResponse(SlotsBody(service));
                 }));
  server->Handle(
      "POST", "/slots/:id",
      WhenLoaded(served, [served](const ChatService& service, const HttpRequest& request) {
        const auto action = request.params.find("action");
        SlotRequest asked;
        asked.slot = request.captures.at("id");
        if (action != request.params.end()) asked.action = action->second;
        asked.body = request.body;
        asked.name_space = NamespaceOf(request);
        return ToResponse(SlotActionBody(service, served->slot_files, asked));
      }));
  server->Handle("GET", "/lora-adapters",
                 WhenLoaded(served, [](const ChatService& service, const HttpRequest&) {
                   return ToResponse(AdaptersBody(service.engine().adapter_sets()));
                 }));
  server->Handle(
      "POST", "/lora-adapters",
      WhenLoaded(served,
                 [](const ChatService& service, const HttpRequest& request) {
                   return ToResponse(SetAdaptersBody(request.body, service.engine().adapter_sets(),
                                                     NamespaceOf(request)));
                 }),
      HttpAccess::kAdminOfMany);
  server->Handle(
      "GET", "/metrics",
      WhenLoaded(served, [served](const ChatService& service, const HttpRequest&) {
        MetricsInput input{
            served->model.version, served->model.alias,        service.stats(),
            service.span_stats(),  served->request_log.whys(), served->drain.state().draining};
        input.refusals = served->refusals.counts();
        input.texts = served->TextsComputed();
        if (served->kv_events != nullptr) input.kv_events = served->kv_events->stats();
        // While the server stops, there are no cache statistics.
        static_cast<void>(
            service.Look([&](CheckpointCache* cache) { input.stats.cache = cache->FullStats(); }));
        HttpResponse response = ToResponse(MetricsText(input));
        response.content_type = "text/plain; version=0.0.4; charset=utf-8";
        response.headers.emplace_back("Process-Start-Time-Unix",
                                      std::to_string(served->model.started_unix_s));
        return response;
      }));
}

// Clients find the id in the answer, and in each event of a stream.
void AddCancelRoutes(HttpServer* server, Served* served) {
  const auto add = [&](const char* method, const char* path, ErrorWording wording) {
    server->Handle(method, path, [served, wording](const HttpRequest& request) {
      return ToResponse(served->running.Cancel(request.captures.at("id"), NamespaceOf(request)),
                        wording);
    });
  };
  add("DELETE", "/v1/chat/completions/:id", ErrorBody);
  add("DELETE", "/v1/completions/:id", ErrorBody);
  add("POST", "/v1/responses/:id/cancel", ErrorBody);
  add("DELETE", "/v1/messages/:id", MessagesErrorBody);
}

ApiResult<std::shared_ptr<const StoredResponses::Chain>> FindResponse(const Served& served,
                                                                      const HttpRequest& request) {
  if (served.responses != nullptr) {
    return served.responses->Find(request.captures.at("id"), NamespaceOf(request));
  }
  return tl::unexpected(
      ToApiError({ErrorCode::kNotFound, "this server stores no responses (--responses-store 0)"}));
}

// If the response is in progress rather than stored, it is cancelled.
ApiResult<std::string> DeleteResponse(Served& served, const HttpRequest& request) {
  const std::string& id = request.captures.at("id");
  if (served.responses == nullptr) return served.running.Cancel(id, NamespaceOf(request));
  const auto removed = served.responses->Remove(id, NamespaceOf(request));
  if (removed) return ToText({{"id", id}, {"object", "response"}, {"deleted", true}});
  auto cancelled = served.running.Cancel(id, NamespaceOf(request));
  if (!cancelled) return tl::unexpected(removed.error());
  return cancelled;
}

void AddStoredResponseRoutes(HttpServer* server, Served* served) {
  server->Handle("GET", "/v1/responses/:id", [served](const HttpRequest& request) {
    auto chain = FindResponse(*served, request);
    if (!chain) return ErrorResponse(chain.error());
    return ToResponse((*chain)->turns().back()->response);
  });
  server->Handle("GET", "/v1/responses/:id/input_items", [served](const HttpRequest& request) {
    auto chain = FindResponse(*served, request);
    if (!chain) return ErrorResponse(chain.error());
    return ToResponse(InputItemsBody((*chain)->turns(), request.params));
  });
  server->Handle("DELETE", "/v1/responses/:id", [served](const HttpRequest& request) {
    return ToResponse(DeleteResponse(*served, request));
  });
}

void AddCacheRoutes(HttpServer* server, Served* served) {
  const auto add = [&](const char* method, const char* path, ServiceHandler handler) {
    server->Handle(method, path, WhenLoaded(served, std::move(handler)));
  };
  add("GET", "/cairn/cache", [](const ChatService& service, const HttpRequest&) {
    return ToResponse(CacheBody(service));
  });
  add("GET", "/cairn/cache/tree", [](const ChatService& service, const HttpRequest& request) {
    return ToResponse(CacheTreeBody(service, request.params, NamespaceOf(request)));
  });
  const char* const checkpoint = "/cairn/cache/checkpoints/:id";
  add("GET", checkpoint, [](const ChatService& service, const HttpRequest& request) {
    return ToResponse(CheckpointBody(service, request.captures.at("id"), NamespaceOf(request)));
  });
  add("POST", checkpoint, [](const ChatService& service, const HttpRequest& request) {
    return ToResponse(
        PinCheckpointBody(service, request.captures.at("id"), request.body, NamespaceOf(request)));
  });
  add("DELETE", checkpoint, [](const ChatService& service, const HttpRequest& request) {
    return ToResponse(DropCheckpointBody(service, request.captures.at("id"), NamespaceOf(request)));
  });
  server->Handle(
      "POST", "/cairn/cache/prefetch",
      WhenOpen(served, [](const ChatService& service, const HttpRequest& request) {
        return ToResponse(PrefetchBody(service, request.body, NamespaceOf(request), request.gone));
      }));
  // The router's children alone have this path, and no client of the router reaches it.
  if (!served->model.id_tag.empty()) {
    add("POST", "/cairn/cache/limit",
        [served](const ChatService& service, const HttpRequest& request) {
          return ToResponse(CacheLimitBody(service, request.body, served->cache_beside_bytes));
        });
  }
  server->Handle(
      "POST", "/cairn/cache/flush",
      WhenLoaded(served, [](const ChatService& service,
                            const HttpRequest&) { return ToResponse(FlushBody(service)); }),
      HttpAccess::kAdmin);
}

void AddInputTokensRoutes(HttpServer* server, const Served* served) {
  const auto add = [&](const char* path, auto answer) {
    server->Handle(
        "POST", path,
        WhenLoaded(served, [answer](const ChatService& service, const HttpRequest& request) {
          return ToResponse(answer(service, request.body, NamespaceOf(request), request.gone));
        }));
  };
  add("/v1/chat/completions/input_tokens", ChatInputTokensBody);
  add("/v1/responses/input_tokens",
      [served](const ChatService& service, std::string_view body, NamespaceId name_space,
               const std::function<bool()>& gone) {
        return ResponsesInputTokensBody(service, body, name_space, served->responses.get(), gone);
      });
}

// Names such as OWNER/MODEL come as two segments, unless the client encodes the slash.
void AddModelRoutes(HttpServer* server, const Served* served) {
  const auto model =
      WhenLoaded(served, [served](const ChatService& service, const HttpRequest& request) {
        const auto owner = request.captures.find("owner");
        const std::string prefix = owner == request.captures.end() ? "" : owner->second + "/";
        return ToResponse(ModelBody(service, served->model, prefix + request.captures.at("id")));
      });
  server->Handle("GET", "/v1/models/:id", model, HttpAccess::kPublic);
  server->Handle("GET", "/v1/models/:owner/:id", model, HttpAccess::kPublic);
}

void AddEmbeddingsRoutes(HttpServer* server, Served* served) {
  const auto answer = [served](bool native) {
    return WhenOpen(served, [=](const ChatService& service, const HttpRequest& request) {
      const EmbeddingsMedia media{&service, NamespaceOf(request), served->encode_medium};
      return ToResponse(native ? NativeEmbeddingsBody(service.engine(), served->embedder,
                                                      request.body, request.gone, media)
                               : EmbeddingsBody(service.engine(), served->embedder,
                                                served->model.alias, request.body, request.gone,
                                                media));
    });
  };
  server->Handle("POST", "/v1/embeddings", answer(false));
  for (const char* path : {"/embeddings", "/embedding"}) server->Handle("POST", path, answer(true));
}

void AddRerankRoutes(HttpServer* server, Served* served) {
  for (const char* path : {"/v1/rerank", "/v2/rerank", "/rerank", "/v1/reranking", "/reranking"}) {
    server->Handle(
        "POST", path, WhenOpen(served, [served](const ChatService&, const HttpRequest& request) {
          return ToResponse(
              RerankBody(served->rerank, served->model.alias, request.body, request.gone));
        }));
  }
}

void AddMessagesRoutes(HttpServer* server, Served* served) {
  server->Handle("POST", "/v1/messages",
                 WhenOpen(
                     served,
                     [served](const ChatService& service, const HttpRequest& request) {
                       return Messages(service, *served, request);
                     },
                     MessagesErrorBody));
  server->Handle("POST", "/v1/messages/count_tokens",
                 WhenLoaded(
                     served,
                     [](const ChatService& service, const HttpRequest& request) {
                       return ToResponse(CountTokensBody(service, request.body,
                                                         NamespaceOf(request), request.gone),
                                         MessagesErrorBody);
                     },
                     MessagesErrorBody));
}

}  // namespace

std::string HttpErrorBody(int status, std::string_view message, std::string_view path) {
  ApiError error;
  error.status = status;
  error.type = ErrorType(status);
  error.message = message;
  if (IsOllamaPath(path)) return OllamaErrorBody(error);
  return IsMessagesPath(path) ? MessagesErrorBody(error) : ErrorBody(error);
}

std::vector<std::pair<std::string, std::string>> AnswerHeaders(Served* served,
                                                               std::string_view path) {
  return {RequestIdHeader(path, served->model.started_unix_s, ++served->requests)};
}

std::pair<std::string, std::string> RequestIdHeader(std::string_view path, int64_t started_unix_s,
                                                    uint64_t number) {
  return {IsMessagesPath(path) ? "request-id" : "x-request-id",
          "req_" + std::to_string(started_unix_s) + "-" + std::to_string(number)};
}

void AddRoutes(HttpServer* server, Served* served) {
  const auto health = WhenLoaded(
      served, [served](const ChatService&, const HttpRequest&) { return HealthResponse(*served); });
  const auto models = WhenLoaded(served, [served](const ChatService& service, const HttpRequest&) {
    return ToResponse(ModelsBody(service, served->model));
  });
  for (const char* path : {"/health", "/v1/health"}) {
    server->Handle("GET", path, health, HttpAccess::kAlways);
  }
  for (const char* path : {"/v1/models", "/models"}) {
    server->Handle("GET", path, models, HttpAccess::kPublic);
  }
  AddModelRoutes(server, served);
  const auto chat =
      WhenOpen(served, [served](const ChatService& service, const HttpRequest& request) {
        return ChatCompletions(service, *served, request);
      });
  for (const char* path : {"/v1/chat/completions", "/chat/completions"}) {
    server->Handle("POST", path, chat);
  }
  const auto responses =
      WhenOpen(served, [served](const ChatService& service, const HttpRequest& request) {
        return Responses(service, *served, request);
      });
  server->Handle("POST", "/v1/responses", responses);
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
  AddStateRoutes(server, served);
  AddCompletionRoutes(server, served);
  AddMessagesRoutes(server, served);
  AddCancelRoutes(server, served);
  AddStoredResponseRoutes(server, served);
  AddRequestRoutes(server, served);
  AddCacheRoutes(server, served);
  AddDrainRoutes(server, served);
  AddInputTokensRoutes(server, served);
  AddEmbeddingsRoutes(server, served);
  AddRerankRoutes(server, served);
  AddRenderRoutes(server, served);
  AddOllamaRoutes(server, served);
}

}  // namespace cairn
