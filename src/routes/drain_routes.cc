#include "routes/drain_routes.h"

#include <string>
#include <utility>

#include "api/json.h"

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

}  // namespace cairn
