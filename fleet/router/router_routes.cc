#include "fleet/router/router_routes.h"

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "api/json.h"
#include "api/record/request_log.h"
#include "api/wall_clock.h"
#include "fleet/router/forwarding.h"
#include "fleet/router/merged_answers.h"
#include "fleet/router/ollama_models_routes.h"
#include "fleet/router/proxy.h"
#include "routes/request_routes.h"
#include "routes/routes.h"

namespace cairn {
namespace {

HttpResponse JsonAnswer(std::string body) {
  HttpResponse response;
  response.body = std::move(body);
  return response;
}

// The answer of the process that knows the id, or else the refusal of one that does not.
HttpResponse ForwardById(const RouterParts& parts, const HttpRequest& request) {
  if (!ParamOf(request, "model").empty()) return Forward(parts, request);
  HttpResponse response = ErrorAnswer(404, "no loaded model knows this id", request.path);
  for (auto& lease : parts.models->UseReady()) {
    response = parts.proxy->Forward(request, std::move(lease));
    if (response.status != 404) break;
  }
  return response;
}

// GET /models?reload=1 reads the presets anew, which acts on all clients. Returns the refusal, if
// there is one.
std::optional<HttpResponse> ReloadModels(const RouterParts& parts, const HttpRequest& request) {
  const std::string asked = ParamOf(request, "reload");
  if (parts.reload == nullptr || (asked != "1" && asked != "true")) return std::nullopt;
  if (auto refused = RefuseUnlessAdmin(parts, request, "GET " + request.path + "?reload=1")) {
    return refused;
  }
  if (const Status reloaded = parts.reload(); !reloaded) {
    return ErrorAnswer(reloaded.error(), request.path);
  }
  return std::nullopt;
}

HttpResponse ListModels(const RouterParts& parts, const HttpRequest& request) {
  if (auto refused = ReloadModels(parts, request)) return *std::move(refused);
  const auto loaded = AskAll(parts, request, "/v1/models");
  // The list is public; paths and log lines are not.
  const bool is_known = parts.keys == nullptr || parts.keys->empty() || request.key_number != 0;
  return JsonAnswer(ModelListBody(parts.models->List(), loaded, {NowUnixS(), is_known}));
}

// One of the list, with all names that it has.
HttpResponse ShowModel(const RouterParts& parts, const HttpRequest& request) {
  const auto owner = request.captures.find("owner");
  const std::string name =
      (owner == request.captures.end() ? "" : owner->second + "/") + request.captures.at("id");
  const ModelEntry* const model = parts.models->Find(name);
  if (model == nullptr) {
    return ErrorAnswer(
        404,
        "there is no model '" + name + "' here; the models are " + NamesOf(parts.models->List()),
        request.path);
  }
  const Json list = Json::parse(ListModels(parts, request).body);
  for (const Json& entry : list["data"]) {
    if (entry["id"] == Json(model->name)) return JsonAnswer(ToText(entry));
  }
  return ErrorAnswer(404, "there is no model '" + name + "' here any more", request.path);
}

HttpResponse Metrics(const RouterParts& parts, const HttpRequest& request) {
  MergedMetrics merged;
  merged.Add("", RouterMetrics(parts.models->List()));
  if (parts.refusals != nullptr) {
    MetricsPage refused;
    AddRefusals(parts.refusals->counts(), &refused);
    merged.Add("", std::move(refused).text());
  }
  for (const auto& [model, page] : AskAll(parts, request, "/metrics")) merged.Add(model, page);
  HttpResponse response;
  response.body = merged.Text();
  response.content_type = "text/plain; version=0.0.4; charset=utf-8";
  return response;
}

// Returns the list in the body of GET /cairn/requests.
Json RequestsIn(std::string_view body) {
  const Json told = Json::parse(body, nullptr, /*allow_exceptions=*/false);
  if (!told.is_object() || !told.contains("requests")) return Json::array();
  return told.at("requests");
}

// GET /cairn/requests: those of the named model, or of all that run, and those that the router
// refused itself.
HttpResponse ListRequests(const RouterParts& parts, const HttpRequest& request) {
  const auto limit = RequestsLimit(request.params);
  if (!limit) return ErrorAnswer(limit.error().status, limit.error().message, request.path);
  Json listed = Json::array();
  const auto add = [&](const Json& more) { listed = MergedRequests(listed, more, *limit); };
  if (!ParamOf(request, "model").empty()) {
    HttpResponse response = Forward(parts, request);
    if (response.status != 200) return response;
    add(RequestsIn(response.body));
  } else {
    const std::string path = "/cairn/requests?limit=" + std::to_string(*limit);
    for (const auto& [model, body] : AskAll(parts, request, path)) add(RequestsIn(body));
  }
  if (parts.refusals != nullptr) {
    for (const Json& refused : RefusedFor(*parts.refusals, request)) add(refused);
  }
  return JsonAnswer(ToText({{"requests", std::move(listed)}}));
}

// GET /cairn/requests/:id.
HttpResponse FindRequest(const RouterParts& parts, const HttpRequest& request) {
  if (parts.refusals != nullptr) {
    const Json refused = FindRefused(*parts.refusals, request);
    if (!refused.is_null()) return JsonAnswer(ToText(refused));
  }
  return ForwardById(parts, request);
}

// POST /models/load and /models/unload.
HttpResponse Change(const RouterParts& parts, const HttpRequest& request,
                    Status (ModelSet::*change)(const ModelEntry*)) {
  const auto body = ParseBody(request.body);
  if (!body) return ErrorAnswer(body.error().status, body.error().message, request.path);
  const auto name = body->find("model");
  if (name == body->end() || !name->is_string()) {
    return ErrorAnswer(400, "'model' must be the name of a model", request.path);
  }
  const ModelEntry* const model = parts.models->Find(name->text());
  if (model == nullptr) {
    return ErrorAnswer(404, "model is not found; the models are " + NamesOf(parts.models->List()),
                       request.path);
  }
  if (const Status changed = (parts.models->*change)(model); !changed) {
    return ErrorAnswer(changed.error(), request.path);
  }
  return JsonAnswer(R"({"success":true})");
}

using RouterHandler = HttpResponse (*)(const RouterParts& parts, const HttpRequest& request);

void AddModelRoutes(HttpServer* server, const RouterParts* parts) {
  for (const char* path : {"/health", "/v1/health"}) {
    server->Handle(
        "GET", path, [](const HttpRequest&) { return JsonAnswer(R"({"status":"ok"})"); },
        HttpAccess::kAlways);
  }
  for (const char* path : {"/models", "/v1/models"}) {
    server->Handle(
        "GET", path, [parts](const HttpRequest& request) { return ListModels(*parts, request); },
        HttpAccess::kPublic);
  }
  for (const char* path : {"/v1/models/:id", "/v1/models/:owner/:id"}) {
    server->Handle(
        "GET", path, [parts](const HttpRequest& request) { return ShowModel(*parts, request); },
        HttpAccess::kPublic);
  }
  const auto add_change = [&](const char* path, Status (ModelSet::*change)(const ModelEntry*)) {
    server->Handle(
        "POST", path,
        [parts, change](const HttpRequest& request) { return Change(*parts, request, change); },
        HttpAccess::kAdminOfMany);
  };
  add_change("/models/load", &ModelSet::Load);
  add_change("/models/unload", &ModelSet::Unload);
  server->Handle("GET", "/metrics",
                 [parts](const HttpRequest& request) { return Metrics(*parts, request); });
  server->Handle("GET", "/props", [parts](const HttpRequest& request) {
    if (!ParamOf(request, "model").empty()) return Forward(*parts, request);
    return JsonAnswer(RouterPropsBody(parts->models_max, parts->autoload, parts->version));
  });
}

}  // namespace

void AddRouterRoutes(HttpServer* server, const RouterParts* parts) {
  const auto add = [&](const char* method, const char* path, RouterHandler handler,
                       HttpAccess access = HttpAccess::kNeedsKey) {
    server->Handle(
        method, path,
        [parts, handler](const HttpRequest& request) { return handler(*parts, request); }, access);
  };
  AddModelRoutes(server, parts);
  for (const char* path : {"/v1/chat/completions",
                           "/chat/completions",
                           "/v1/completions",
                           "/completion",
                           "/completions",
                           "/infill",
                           "/v1/messages",
                           "/v1/messages/count_tokens",
                           "/v1/responses",
                           "/v1/chat/completions/input_tokens",
                           "/v1/responses/input_tokens",
                           "/v1/embeddings",
                           "/embedding",
                           "/embeddings",
                           "/v1/rerank",
                           "/v2/rerank",
                           "/rerank",
                           "/v1/reranking",
                           "/reranking",
                           "/tokenize",
                           "/detokenize",
                           "/apply-template",
                           "/slots/:id",
                           "/cairn/cache/prefetch",
                           "/cairn/cache/checkpoints/:id",
                           "/v1/chat/completions/render",
                           "/v1/completions/render",
                           "/v1/messages/render",
                           "/v1/responses/render"}) {
    add("POST", path, Forward);
  }
  add("POST", "/lora-adapters", Forward, HttpAccess::kAdminOfMany);
  for (const char* path : {"/cairn/cache/flush", "/cairn/drain"}) {
    add("POST", path, Forward, HttpAccess::kAdmin);
  }
  for (const char* path : {"/slots", "/lora-adapters", "/cairn/cache", "/cairn/doctor",
                           "/cairn/cache/tree", "/cairn/cache/checkpoints/:id", "/cairn/drain"}) {
    add("GET", path, Forward);
  }
  add("DELETE", "/cairn/cache/checkpoints/:id", Forward);
  add("DELETE", "/cairn/drain", Forward, HttpAccess::kAdmin);
  for (const char* path : {"/v1/chat/completions/:id", "/v1/completions/:id", "/v1/messages/:id",
                           "/v1/responses/:id"}) {
    add("DELETE", path, ForwardById);
  }
  add("POST", "/v1/responses/:id/cancel", ForwardById);
  for (const char* path : {"/v1/responses/:id", "/v1/responses/:id/input_items",
                           "/cairn/requests/:id/thumbnails/:index"}) {
    add("GET", path, ForwardById);
  }
  AddOllamaModelsRoutes(server, parts);
  add("GET", "/cairn/requests", ListRequests);
  add("GET", "/cairn/requests/:id", FindRequest);
}

}  // namespace cairn
