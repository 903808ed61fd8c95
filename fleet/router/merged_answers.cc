#include "fleet/router/merged_answers.h"

#include <algorithm>
#include <cstddef>
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

// Returns the name in "# HELP name text" or "# TYPE name type"; empty in any other line.
std::string_view NameInHead(std::string_view line) {
  if (!line.starts_with("# HELP ") && !line.starts_with("# TYPE ")) return {};
  line.remove_prefix(7);
  return line.substr(0, line.find(' '));
}

std::string Escaped(std::string_view text) {
  std::string escaped;
  for (const char c : text) {
    if (c == '\\' || c == '"') escaped += '\\';
    if (c == '\n') {
      escaped += "\\n";
    } else {
      escaped += c;
    }
  }
  return escaped;
}

bool HasModel(std::string_view labels) {
  return labels.starts_with("{model=\"") || labels.find(",model=\"") != std::string_view::npos;
}

std::string WithModel(std::string_view sample, const std::string& label) {
  const size_t end = sample.find_first_of("{ ");
  if (end == std::string_view::npos) return std::string(sample);
  const std::string_view name = sample.substr(0, end);
  const std::string_view rest = sample.substr(end);
  if (!rest.starts_with('{')) return std::string(name) + "{" + label + "}" + std::string(rest);
  if (HasModel(rest)) return std::string(sample);
  return std::string(name) + "{" + label + "," + std::string(rest.substr(1));
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

MergedMetrics::Metric& MergedMetrics::Of(std::string_view name) {
  const auto found = metrics_.find(name);
  if (found != metrics_.end()) return found->second;
  names_.emplace_back(name);
  return metrics_[std::string(name)];
}

void MergedMetrics::Add(std::string_view model, std::string_view page) {
  const std::string label = "model=\"" + Escaped(model) + "\"";
  Metric* metric = nullptr;
  bool has_head = false;  // from an earlier page
  std::string_view name;
  while (!page.empty()) {
    const std::string_view line = page.substr(0, page.find('\n'));
    page.remove_prefix(std::min(line.size() + 1, page.size()));
    if (line.empty()) continue;
    const std::string_view named = NameInHead(line);
    if (!named.empty() && (metric == nullptr || named != name)) {
      name = named;
      metric = &Of(name);
      has_head = !metric->head.empty();
    }
    if (metric == nullptr) continue;  // a sample without a head: none of our pages has one
    if (!named.empty()) {
      if (!has_head) metric->head.append(line).append("\n");
    } else if (!line.starts_with('#')) {
      metric->samples += WithModel(line, label) + "\n";
    }
  }
}

std::string MergedMetrics::Text() const {
  std::string text;
  for (const std::string& name : names_) {
    const Metric& metric = metrics_.at(name);
    text += metric.head + metric.samples;
  }
  return text;
}

}  // namespace cairn
