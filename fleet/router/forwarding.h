// Forwarding: finds the model that a request is for, and has its process answer.
//
// Any thread.

#ifndef CAIRN_FLEET_ROUTER_FORWARDING_H_
#define CAIRN_FLEET_ROUTER_FORWARDING_H_

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "fleet/router/router_routes.h"

namespace cairn {

// RequestModel: which model a request's body names, without parsing the body: it may hold images of
// many MiB, which the model's own process parses anyway.
struct NamedModel {
  enum class Kind {
    kNone,      // the body names no model, or null, or is no JSON object
    kNamed,     // `name` is the model
    kNoString,  // the field is of another type
  };
  Kind kind = Kind::kNone;
  std::string name;
};

// Returns the member "model" of the JSON object `body`; of several the last one, as JSON parsers
// do. The members before it are only skipped; whether all is valid is the process's to say.
NamedModel RequestModel(std::string_view body);

// Returns the value in the query, or an empty text.
std::string ParamOf(const HttpRequest& request, const char* name);

// Returns the models' names, for messages.
std::string NamesOf(const std::vector<ModelStatus>& models);

// Returns the model that one of Ollama's clients names: they send the names of its lists. Null if
// there is none.
const ModelEntry* FindOllamaModel(const RouterParts& parts, const std::string& name);

// Returns the model that the request is for.
Result<const ModelEntry*> ModelFor(const RouterParts& parts, const HttpRequest& request);

// Has the model's process answer the request; starts it if need be.
HttpResponse Forward(const RouterParts& parts, const HttpRequest& request);

// Has every ready process answer a GET of `path`; by the model's name.
std::map<std::string, std::string> AskAll(const RouterParts& parts, const HttpRequest& request,
                                          const std::string& path);

// Returns the refusal of a request that acts on all clients, if there are several keys and its own
// is no admin's. `does` names what it would do.
std::optional<HttpResponse> RefuseUnlessAdmin(const RouterParts& parts, const HttpRequest& request,
                                              const std::string& does);

}  // namespace cairn

#endif  // CAIRN_FLEET_ROUTER_FORWARDING_H_
