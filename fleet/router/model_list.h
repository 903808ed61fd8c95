// The JSON of a router's own answers: the list of models and the properties, in llama-server's
// form.

#ifndef CAIRN_FLEET_ROUTER_MODEL_LIST_H_
#define CAIRN_FLEET_ROUTER_MODEL_LIST_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "fleet/router/children/model_set.h"

namespace cairn {

// Returns "unloaded", "loading", "loaded" or "unloading".
const char* PhaseName(ModelPhase phase);

struct ModelListOptions {
  int64_t now_unix_s = 0;
  bool details = true;  // flags, presets and log lines too
};

// Returns the body of GET /v1/models. `loaded` has the same of the processes that are ready, by the
// name of the model: their fields are taken over where the router has none, and with them the list
// `models` for Codex and Ollama's clients.
std::string ModelListBody(const std::vector<ModelStatus>& models,
                          const std::map<std::string, std::string>& loaded,
                          const ModelListOptions& options);

// Returns the body of GET /props without a model.
std::string RouterPropsBody(size_t models_max, bool autoload, const std::string& version);

// Returns the router's own metrics: each has the label `model`.
std::string RouterMetrics(const std::vector<ModelStatus>& models);

}  // namespace cairn

#endif  // CAIRN_FLEET_ROUTER_MODEL_LIST_H_
