#include "routes/answering.h"

#include <string>
#include <utility>

#include "api/answer/answer_reader.h"
#include "api/json.h"
#include "api/llama_server/native.h"
#include "api/wall_clock.h"
#include "base/utf8.h"

namespace cairn {
namespace {

// A restart takes seconds, and other servers are there at once: a client that knows no other need
// not ask every second.
constexpr const char* kRetryAfterS = "5";

HttpResponse Unavailable(std::string_view message, std::string_view path) {
  HttpResponse response;
  response.status = 503;
  response.body = HttpErrorBody(503, message, path);
  response.error_message = message;
  response.headers.emplace_back("Retry-After", kRetryAfterS);
  return response;
}

HttpResponse StateResponse(const Served& served, const ChatService& service) {
  HttpResponse response;
  response.body = DrainBody(served.drain.state(), service);
  return response;
}

using Action = HttpResponse (*)(Served& served, const ChatService& service,
                                const HttpRequest& request);

HttpResponse BeginDrain(Served& served, const ChatService& service,
                        const HttpRequest& /*request*/) {
  served.drain.Begin();
  service.SetDraining(true);
  return StateResponse(served, service);
}

HttpResponse Show(Served& served, const ChatService& service, const HttpRequest& /*request*/) {
  return StateResponse(served, service);
}

HttpResponse End(Served& served, const ChatService& service, const HttpRequest& request) {
  if (!served.drain.End()) {
    return Unavailable("the server is shutting down; its drain cannot be taken back", request.path);
  }
  service.SetDraining(false);
  return StateResponse(served, service);
}

// Limit for waiting for the first event, and with it for the status, of a stream without pings.
constexpr double kFirstEventMsMax = 30'000;

// As many pieces of a stream wait for a client that reads slowly before its answer is paused. With
// the socket's own buffer that is some seconds of an answer at reading speed.
constexpr size_t kWaitingEventsMax = 256;

// As the client calls itself, at the length that the doctor shows.
std::string AgentOf(const HttpRequest& request) {
  return ToValidUtf8(request.Header("User-Agent").substr(0, Doctor::kAgentBytesMax));
}

}  // namespace

HttpHandler UnlessDraining(Served* served, HttpHandler handler) {
  return [served, handler = std::move(handler)](const HttpRequest& request) {
    Drain::Pass pass = served->drain.Enter();
    if (pass == nullptr) return Unavailable(kDrainingText, request.path);
    HttpResponse response = handler(request);
    response.until_sent = std::move(pass);
    return response;
  };
}

HttpResponse HealthResponse(const Served& served) {
  HttpResponse response;
  if (!served.drain.state().draining) {
    response.body = R"({"status":"ok"})";
    return response;
  }
  response = Unavailable(kDrainingText, "/health");
  Json body = Json::parse(response.body);
  body["status"] = "draining";
  response.body = ToText(body);
  return response;
}

void AddDrainRoutes(HttpServer* server, Served* served) {
  const auto add = [&](const char* method, Action action, HttpAccess access) {
    const auto handler = [served, action](const HttpRequest& request) {
      const ChatService* service = served->service.load(std::memory_order_acquire);
      if (service == nullptr) return Unavailable(served->not_ready.load(), request.path);
      return action(*served, *service, request);
    };
    server->Handle(method, "/cairn/drain", handler, access);
  };
  add("GET", Show, HttpAccess::kNeedsKey);
  add("POST", BeginDrain, HttpAccess::kAdmin);
  add("DELETE", End, HttpAccess::kAdmin);
}

void StreamPing::Fill(std::string_view ping, std::string* chunk) {
  if (interval_ms_ <= 0) return;
  const double now_ms = clock_->NowMs();
  if (chunk->empty() && now_ms - sent_ms_ < interval_ms_) return;
  if (chunk->empty()) *chunk = ping;
  sent_ms_ = now_ms;
}

double PingMs(const Served& served) {
  return static_cast<double>(served.sse_ping_interval_s) * 1000;
}

std::optional<ApiError> FailureBeforeStream(const Served& served, const HttpRequest& request,
                                            Generation* generation) {
  generation->BoundWaiting(kWaitingEventsMax);
  const double ping_ms = PingMs(served);
  return FailureBeforeAnswer(generation, ping_ms > 0 ? ping_ms : kFirstEventMsMax, request.gone);
}

AnswerIdentity NewIdentity(const std::string& prefix, Served& served) {
  AnswerIdentity identity;
  identity.created_unix_s = NowUnixS();
  identity.id = prefix + served.model.id_tag + std::to_string(served.model.started_unix_s) + "-" +
                std::to_string(++served.answers);
  identity.model = served.model.alias;
  identity.fingerprint = BuildInfo(served.model.version);
  return identity;
}

std::shared_ptr<RequestRecord> Record(Served& served, const ChatService& service,
                                      const HttpRequest& request, const AnswerIdentity& identity,
                                      ExplainedPrompt prompt, Generation* generation) {
  auto record =
      served.request_log.Begin({identity.id, request.path, NamespaceOf(request),
                                identity.created_unix_s, AgentOf(request), identity.model},
                               std::move(prompt), &service.engine());
  Watch(record, generation);
  return record;
}

Begun Begin(const std::string& prefix, Served& served, const ChatService& service,
            const HttpRequest& request, bool explain, StartedChat* chat) {
  Begun begun{NewIdentity(prefix, served), {}};
  served.running.Add(begun.identity.id, NamespaceOf(request), chat->generation);
  begun.record = Record(served, service, request, begun.identity, std::move(chat->explained),
                        chat->generation.get());
  if (begun.record->Tells(explain)) chat->record = begun.record;
  return begun;
}

HttpResponse WholeResponse(ApiResult<std::string> body, const RequestRecord& record,
                           ErrorWording wording) {
  HttpResponse response = ToResponse(std::move(body), wording);
  response.error_message.clear();  // the record tells of it
  for (auto& header : record.Headers()) response.headers.push_back(std::move(header));
  return response;
}

void UseGrammar(const Served& served, ChatRequest* request) {
  if (!request->grammar.empty() || served.grammar.empty()) return;
  request->grammar = served.grammar;
  request->grammar_is_format = served.grammar_is_format;
}

HttpHandler WhenLoaded(const Served* served, ServiceHandler handler, ErrorWording wording) {
  return [served, wording, handler = std::move(handler)](const HttpRequest& request) {
    const ChatService* service = served->service.load(std::memory_order_acquire);
    if (service != nullptr) return handler(*service, request);
    return ErrorResponse(ToApiError({ErrorCode::kUnavailable, served->not_ready.load()}), wording);
  };
}

HttpHandler WhenOpen(Served* served, ServiceHandler handler, ErrorWording wording) {
  return UnlessDraining(served, WhenLoaded(served, std::move(handler), wording));
}

}  // namespace cairn
