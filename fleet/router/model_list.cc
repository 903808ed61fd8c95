#include "fleet/router/model_list.h"

#include <algorithm>
#include <utility>

#include "api/admin/metrics_page.h"
#include "api/json.h"
#include "api/llama_server/native.h"

namespace cairn {
namespace {

Json StatusOf(const ModelStatus& model, bool details) {
  Json status = {{"value", PhaseName(model.phase)}};
  if (details) {
    status["args"] = Json(model.entry->arguments);
    if (!model.entry->preset.empty()) status["preset"] = model.entry->preset;
  }
  if (model.failed) {
    status["failed"] = true;
    status["exit_code"] = model.exit_code;
    if (details) status["error"] = model.error;
  }
  return status;
}

Json InputModalities(const ModelEntry& entry) {
  Json names = Json::array({"text"});
  const bool has_projector =
      std::any_of(entry.arguments.begin(), entry.arguments.end(),
                  [](const std::string& one) { return one.starts_with("--mmproj="); });
  if (has_projector) names.push_back("image");
  return names;
}

Json EntryOf(const ModelStatus& model, const ModelListOptions& options) {
  const ModelEntry& entry = *model.entry;
  return {{"id", entry.name},
          {"aliases", Json(entry.aliases)},
          {"tags", Json(entry.tags)},
          {"object", "model"},
          {"owned_by", "cairn"},
          {"created", options.now_unix_s},
          {"status", StatusOf(model, options.details)},
          {"source", entry.source},
          {"can_remove", false},
          {"pinned", entry.pinned}};
}

// Takes over the members that `entry` lacks.
void AddMissing(const Json& from, Json* entry) {
  for (const auto& [name, value] : from.items()) {
    if (!entry->contains(name)) (*entry)[name] = value;
  }
}

template <typename Value>
void AddSamples(const std::vector<ModelStatus>& models, const Value& value, MetricsPage* page) {
  for (const ModelStatus& model : models) {
    page->Sample({{"model", model.entry->name}}, static_cast<double>(value(model)));
  }
}

}  // namespace

const char* PhaseName(ModelPhase phase) {
  switch (phase) {
    case ModelPhase::kStopped:
      return "unloaded";
    case ModelPhase::kLoading:
      return "loading";
    case ModelPhase::kReady:
      return "loaded";
    case ModelPhase::kStopping:
      return "unloading";
  }
  return "unloaded";
}

std::string ModelListBody(const std::vector<ModelStatus>& models,
                          const std::map<std::string, std::string>& loaded,
                          const ModelListOptions& options) {
  Json data = Json::array();
  Json further = Json::array();
  for (const ModelStatus& model : models) {
    Json entry = EntryOf(model, options);
    const auto own = loaded.find(model.entry->name);
    const Json body = own == loaded.end()
                          ? Json()
                          : Json::parse(own->second, nullptr, /*allow_exceptions=*/false);
    if (const Json* const first = FindPointer(body, "/data/0"); first && first->is_object()) {
      AddMissing(*first, &entry);
    }
    if (const Json* const first = FindPointer(body, "/models/0")) further.push_back(*first);
    if (!entry.contains("architecture")) {
      entry["architecture"] = {{"input_modalities", InputModalities(*model.entry)},
                               {"output_modalities", Json::array({"text"})}};
    }
    data.push_back(std::move(entry));
  }
  Json body = {{"object", "list"}};
  body["data"] = std::move(data);
  body["models"] = std::move(further);
  return ToText(body);
}

std::string RouterPropsBody(size_t models_max, bool autoload, const std::string& version) {
  return ToText({{"role", "router"},
                 {"max_instances", models_max},
                 {"models_autoload", autoload},
                 {"model_alias", "cairn"},
                 {"model_path", "none"},
                 {"default_generation_settings", {{"params", Json::object()}, {"n_ctx", 0}}},
                 {"build_info", BuildInfo(version)}});
}

std::string RouterMetrics(const std::vector<ModelStatus>& models) {
  MetricsPage page;
  page.BeginGauge("cairn_model_loaded", "1 if the model's process is ready");
  AddSamples(
      models, [](const ModelStatus& model) { return model.phase == ModelPhase::kReady ? 1 : 0; },
      &page);
  page.BeginGauge("cairn_model_failed", "1 if the model's last process ended by itself");
  AddSamples(models, [](const ModelStatus& model) { return model.failed ? 1 : 0; }, &page);
  page.BeginGauge("cairn_model_requests", "Requests that the model answers");
  AddSamples(models, [](const ModelStatus& model) { return model.in_use; }, &page);
  page.BeginGauge("cairn_model_requests_waiting", "Requests that wait for the model to be loaded");
  AddSamples(models, [](const ModelStatus& model) { return model.waiting; }, &page);
  page.BeginGauge("cairn_model_memory_bytes",
                  "Memory for the model's weights and context; its files' size before it has run");
  AddSamples(models, [](const ModelStatus& model) { return model.bytes; }, &page);
  page.BeginGauge("cairn_model_load_seconds", "Time to load of the model's last process");
  AddSamples(models, [](const ModelStatus& model) { return model.loading_ms / 1000; }, &page);
  page.BeginCounter("cairn_model_starts_total", "Processes started for the model");
  AddSamples(models, [](const ModelStatus& model) { return model.starts; }, &page);
  page.BeginCounter("cairn_model_deaths_total", "Processes of the model that ended by themselves");
  AddSamples(models, [](const ModelStatus& model) { return model.deaths; }, &page);
  page.BeginCounter("cairn_model_unloads_total",
                    "Processes of the model that were stopped for another one, by time or by "
                    "request");
  AddSamples(models, [](const ModelStatus& model) { return model.unloads; }, &page);
  return std::move(page).text();
}

}  // namespace cairn
