#include "cmd/serve/models/cached_models.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string_view>
#include <utility>

#include "base/gguf/gguf_name.h"
#include "download/hub/hub_cache.h"
#include "download/hub/hub_files.h"
#include "download/model_download.h"

namespace cairn {
namespace {

bool HasFile(const HubCache::Snapshot& snapshot, const std::string& path) {
  return std::any_of(snapshot.files.begin(), snapshot.files.end(),
                     [&](const HubFile& file) { return file.path == path; });
}

// Whether the file is the first one of a model whose parts are all there.
bool BeginsModel(const HubCache::Snapshot& snapshot, const GgufName& name) {
  if (name.part != 1 || name.stem.find("mmproj") != std::string::npos) return false;
  for (int part = 2; part <= name.parts; ++part) {
    if (!HasFile(snapshot, PartName(name, part))) return false;
  }
  return true;
}

void AddModels(const HubCache& cache, const std::string& repo, const HubCache::Snapshot& snapshot,
               std::map<std::string, FoundModel>* found) {
  for (const HubFile& file : snapshot.files) {
    const auto name = ParseGgufName(file.path);
    if (!name || !BeginsModel(snapshot, *name)) continue;
    FoundModel model;
    const std::string quant = QuantOf(*name);
    model.name = quant.empty() ? repo : repo + ":" + quant;
    model.path = cache.SnapshotPath(repo, snapshot.commit, file.path);
    if (const auto projector = ChooseProjector(snapshot.files, file.path)) {
      model.projector = cache.SnapshotPath(repo, snapshot.commit, projector->path);
    }
    found->emplace(model.name, model);
  }
}

}  // namespace

std::vector<FoundModel> CachedModelsIn(const std::string& hub_folder) {
  const HubCache cache(hub_folder);
  std::vector<FoundModel> models;
  for (const std::string& repo : cache.Repos()) {
    std::map<std::string, FoundModel> found;
    for (const HubCache::Snapshot& snapshot : cache.List(repo)) {
      AddModels(cache, repo, snapshot, &found);
      if (!found.empty()) break;
    }
    for (auto& [name, model] : found) models.push_back(std::move(model));
  }
  return models;
}

std::vector<FoundModel> CachedModels() {
  const std::string folder = SettingsOfEnvironment().hub_folder;
  return folder.empty() ? std::vector<FoundModel>() : CachedModelsIn(folder);
}

std::string CachedModelsList() {
  const std::vector<FoundModel> models = CachedModels();
  std::string list = std::to_string(models.size()) + " models in " +
                     SettingsOfEnvironment().hub_folder + (models.empty() ? "\n" : ":\n");
  for (const FoundModel& model : models) list += "  " + model.name + "\n";
  return list;
}

}  // namespace cairn
