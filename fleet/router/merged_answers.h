// A router's own answers for all of its models: the list of models and the properties, in
// llama-server's form, and one page of metrics.

#ifndef CAIRN_FLEET_ROUTER_MERGED_ANSWERS_H_
#define CAIRN_FLEET_ROUTER_MERGED_ANSWERS_H_

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
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

// MergedMetrics: one page of metrics of several servers, with the label `model` on each sample.
//
//   # TYPE cairn_requests_total counter               # TYPE cairn_requests_total counter
//   cairn_requests_total 3                     ──>    cairn_requests_total{model="qwen"} 3
//   (qwen's page, and gemma's)                        cairn_requests_total{model="gemma"} 5
//
// Prometheus wants all samples of a metric together, below one head.

// Used by one thread.
class MergedMetrics {
 public:
  // Adds a page. A sample that has a label `model` already keeps it.
  void Add(std::string_view model, std::string_view page);
  std::string Text() const;

 private:
  struct Metric {
    std::string head;  // its # lines
    std::string samples;
  };
  Metric& Of(std::string_view name);

  std::vector<std::string> names_;  // in the order in which they came
  std::map<std::string, Metric, std::less<>> metrics_;
};

}  // namespace cairn

#endif  // CAIRN_FLEET_ROUTER_MERGED_ANSWERS_H_
