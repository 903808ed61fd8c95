#include "fleet/router/forwarding.h"

#include <memory>
#include <optional>
#include <utility>

#include "api/ollama/ollama_models.h"
#include "fleet/router/error_answer.h"
#include "fleet/router/request_model.h"
#include "http/server_words.h"

namespace cairn {
namespace {

bool Autoloads(const RouterParts& parts, const HttpRequest& request) {
  const std::string asked = ParamOf(request, "autoload");
  return asked.empty() ? parts.autoload : asked == "true" || asked == "1";
}

}  // namespace

std::string ParamOf(const HttpRequest& request, const char* name) {
  const auto found = request.params.find(name);
  return found == request.params.end() ? std::string() : found->second;
}

std::string NamesOf(const std::vector<ModelStatus>& models) {
  std::string names;
  for (const ModelStatus& model : models) {
    names += (names.empty() ? "" : ", ") + model.entry->name;
  }
  return names;
}

const ModelEntry* FindOllamaModel(const RouterParts& parts, const std::string& name) {
  const ModelEntry* const model = parts.models->Find(name);
  return model != nullptr ? model : parts.models->Find(WithoutLatest(name));
}

Result<const ModelEntry*> ModelFor(const RouterParts& parts, const HttpRequest& request) {
  NamedModel named = RequestModel(request.body);
  if (named.kind == NamedModel::Kind::kNoString) {
    return Fail(ErrorCode::kInvalidArgument, "'model' must be a string");
  }
  if (named.name.empty()) named.name = ParamOf(request, "model");
  const auto models = parts.models->List();
  if (!named.name.empty()) {
    const bool is_ollamas = IsOllamaPath(request.path);
    const ModelEntry* const model =
        is_ollamas ? FindOllamaModel(parts, named.name) : parts.models->Find(named.name);
    if (model != nullptr) return model;
    if (is_ollamas) {
      return Fail(ErrorCode::kNotFound, NoOllamaModel(named.name, NamesOf(models)).message);
    }
    return Fail(ErrorCode::kNotFound,
                "there is no model '" + named.name + "' here; the models are " + NamesOf(models));
  }
  if (models.size() == 1) return models.front().entry;
  const auto loaded = parts.models->Loaded();
  if (loaded.size() == 1) return loaded.front();
  return Fail(ErrorCode::kInvalidArgument,
              "the request names no model, and " +
                  std::string(loaded.empty() ? "none is loaded" : "several are loaded") +
                  "; set 'model' to one of " + NamesOf(models));
}

HttpResponse Forward(const RouterParts& parts, const HttpRequest& request) {
  const auto model = ModelFor(parts, request);
  if (!model) return ErrorAnswer(model.error(), request.path);
  // A process that has just died may have a successor, which has not seen the request yet.
  for (;;) {
    const auto lease = parts.models->Use(
        *model, {Autoloads(parts, request), request.method == "POST"}, request.gone);
    if (!lease) return ErrorAnswer(lease.error(), request.path);
    HttpResponse response = parts.proxy->Forward(request, *lease);
    if (!(*lease)->was_refused()) return response;
  }
}

std::map<std::string, std::string> AskAll(const RouterParts& parts, const HttpRequest& request,
                                          const std::string& path) {
  std::map<std::string, std::string> bodies;
  HttpRequest own = request;
  own.method = "GET";
  own.target = path;
  own.body.clear();
  for (auto& lease : parts.models->UseReady()) {
    const std::string name = lease->name();
    HttpResponse response = parts.proxy->Forward(own, std::move(lease));
    if (response.status == 200) bodies[name] = std::move(response.body);
  }
  return bodies;
}

std::optional<HttpResponse> RefuseUnlessAdmin(const RouterParts& parts, const HttpRequest& request,
                                              const std::string& does) {
  if (parts.keys == nullptr || parts.keys->empty()) return std::nullopt;
  if (request.key_number == 0) {
    return ErrorAnswer(401, "an API key is required for " + does, request.path);
  }
  if (parts.keys->IsAdminOrOnly(request.key_number)) return std::nullopt;
  return ErrorAnswer(403, NeedsAdminText(does, parts.keys->has_admin()), request.path);
}

}  // namespace cairn
