#include "fleet/router/ollama_models_routes.h"

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/json.h"
#include "api/ollama/ollama_answer.h"
#include "api/ollama/ollama_models.h"
#include "api/ollama/ollama_request.h"
#include "api/wall_clock.h"
#include "base/text.h"
#include "fleet/router/forwarding.h"
#include "fleet/router/presets/models_folder.h"
#include "fleet/router/proxy.h"
#include "routes/answering.h"
#include "routes/ollama_routes.h"

namespace cairn {
namespace {

// A request without a prompt is small.
constexpr size_t kEmptyRequestBytesMax = 4096;

HttpResponse Refused(const ApiError& error) {
  return ErrorResponse(error, OllamaErrorBody);
}

// The entries that processes have of their own model in a list.
void AddEntries(const std::string& body, Json* models) {
  const Json list = Json::parse(body, nullptr, /*allow_exceptions=*/false);
  const Json* const entry = FindPointer(list, "/models/0");
  if (entry != nullptr) models->push_back(*entry);
}

HttpResponse ListOllamaModels(const RouterParts& parts, const HttpRequest& request) {
  const auto loaded = AskAll(parts, request, "/api/tags");
  Json models = Json::array();
  for (const ModelStatus& model : parts.models->List()) {
    const auto own = loaded.find(model.entry->name);
    if (own != loaded.end()) {
      AddEntries(own->second, &models);
      continue;
    }
    models.push_back(OllamaEntry({.name = model.entry->name,
                                  .bytes = FileBytes(*model.entry),
                                  .modified_unix_s = NowUnixS()}));
  }
  return ToResponse(ToText({{"models", std::move(models)}}));
}

HttpResponse ListLoaded(const RouterParts& parts, const HttpRequest& request) {
  Json models = Json::array();
  for (const auto& [name, body] : AskAll(parts, request, "/api/ps")) AddEntries(body, &models);
  return ToResponse(ToText({{"models", std::move(models)}}));
}

// Returns the model that the body names in `model` or `name`.
ApiResult<const ModelEntry*> OllamaModelOf(const RouterParts& parts, const HttpRequest& request) {
  const auto name = OllamaModelIn(request.body);
  if (!name) return tl::unexpected(name.error());
  const ModelEntry* const model = FindOllamaModel(parts, *name);
  if (model == nullptr) {
    return tl::unexpected(NoOllamaModel(*name, NamesOf(parts.models->List())));
  }
  return model;
}

// Returns the value of a flag of the model's command line; empty if it is not there.
std::string_view FlagOf(const ModelEntry& model, std::string_view flag) {
  for (const std::string_view argument : model.arguments) {
    if (argument.starts_with(flag) && argument.substr(flag.size()).starts_with('=')) {
      return argument.substr(flag.size() + 1);
    }
  }
  return {};
}

// Returns the description of a model that is not loaded.
std::string ShowUnloaded(const ModelEntry& model) {
  const std::string unknown = "unknown";
  const Json entry = OllamaEntry({.name = model.name, .family = unknown});
  Json info = {{"general.architecture", unknown}};
  const auto context = ParseNumber(FlagOf(model, "--ctx-size"));
  if (context && *context > 0) info[unknown + ".context_length"] = *context;
  Json capabilities = Json::array({"completion", "tools"});
  if (!FlagOf(model, "--mmproj").empty()) capabilities.push_back("vision");
  return ToText({{"modelfile", "# served by Cairn\nFROM " + model.name + "\n"},
                 {"parameters", ""},
                 {"template", ""},
                 {"details", entry["details"]},
                 {"model_info", std::move(info)},
                 {"capabilities", std::move(capabilities)},
                 {"modified_at", OllamaTime(NowUnixS())}});
}

HttpResponse Show(const RouterParts& parts, const HttpRequest& request) {
  const auto model = OllamaModelOf(parts, request);
  if (!model) return Refused(model.error());
  for (auto& lease : parts.models->UseReady()) {
    if (lease->name() == (*model)->name) return parts.proxy->Forward(request, std::move(lease));
  }
  return ToResponse(ShowUnloaded(**model));
}

HttpResponse Pull(const RouterParts& parts, const HttpRequest& request) {
  const auto model = OllamaModelOf(parts, request);
  return OllamaPullResponse(model ? ApiResult<void>()
                                  : ApiResult<void>(tl::unexpected(model.error())));
}

// Returns the request if it asks for nothing but to unload a model.
std::optional<OllamaRequest> UnloadOf(const HttpRequest& request, bool is_chat) {
  if (request.body.size() > kEmptyRequestBytesMax) return std::nullopt;
  const auto body = ParseBody(request.body);
  if (!body) return std::nullopt;
  auto asked = is_chat ? ParseOllamaChat(*body, {}) : ParseOllamaGenerate(*body, {});
  if (!asked || !asked->is_empty || !asked->unloads) return std::nullopt;
  return *std::move(asked);
}

HttpResponse Answer(const RouterParts& parts, const HttpRequest& request, bool is_chat) {
  const auto unload = UnloadOf(request, is_chat);
  if (!unload) return Forward(parts, request);
  const ModelEntry* const model = FindOllamaModel(parts, unload->model);
  if (model == nullptr) {
    return Refused(NoOllamaModel(unload->model, NamesOf(parts.models->List())));
  }
  if (auto refused = RefuseUnlessAdmin(parts, request, "unloading a model")) return *refused;
  // One that is not loaded is as the client wants it.
  static_cast<void>(parts.models->Unload(model));
  return OllamaEmptyResponse(*unload, is_chat);
}

}  // namespace

void AddOllamaModelsRoutes(HttpServer* server, const RouterParts* parts) {
  const auto add = [&](const char* method, const char* path, auto answer,
                       HttpAccess access = HttpAccess::kNeedsKey) {
    server->Handle(
        method, path,
        [parts, answer](const HttpRequest& request) { return answer(*parts, request); }, access);
  };
  server->Handle(
      "GET", "/api/version", [](const HttpRequest&) { return ToResponse(OllamaVersionBody()); },
      HttpAccess::kPublic);
  add("GET", "/api/tags", ListOllamaModels, HttpAccess::kPublic);
  add("GET", "/api/ps", ListLoaded);
  add("POST", "/api/show", Show);
  add("POST", "/api/pull", Pull);
  for (const bool is_chat : {true, false}) {
    add("POST", is_chat ? "/api/chat" : "/api/generate",
        [is_chat](const RouterParts& own, const HttpRequest& request) {
          return Answer(own, request, is_chat);
        });
  }
  for (const char* path : {"/api/embed", "/api/embeddings"}) add("POST", path, Forward);
  AddOllamaRefusals(server);
}

}  // namespace cairn
