// Which models the set has.

#include <algorithm>
#include <utility>

#include "fleet/router/children/model_set.h"

namespace cairn {

const ModelEntry* ModelSet::Find(std::string_view name) const {
  const MutexLock lock(mutex_);
  for (const Model& model : models_) {
    if (!model.removed && model.entry.name == name) return &model.entry;
  }
  for (const Model& model : models_) {
    const auto& aliases = model.entry.aliases;
    const bool named = std::find(aliases.begin(), aliases.end(), name) != aliases.end();
    if (!model.removed && named) return &model.entry;
  }
  return nullptr;
}

void ModelSet::SetModels(std::vector<ModelEntry> models) {
  const MutexLock lock(mutex_);
  for (size_t i = 0; i < models_.size(); ++i) {
    if (models_[i].removed) continue;
    const auto same = std::find(models.begin(), models.end(), models_[i].entry);
    if (same == models.end()) {
      Remove(i);
    } else {
      models.erase(same);
    }
  }
  for (ModelEntry& entry : models) Append(std::move(entry));
  Replan();
}

void ModelSet::Append(ModelEntry entry) {
  Model& model = models_.emplace_back();
  model.entry = std::move(entry);
  if (options_.expected_bytes) model.bytes = options_.expected_bytes(model.entry);
  ended_.reserve(2 * models_.size());
}

// A ready one is stopped by the next plan in which no request uses it.
void ModelSet::Remove(size_t index) {
  Model& model = models_[index];
  model.removed = true;
  if (model.phase == ModelPhase::kLoading) StopModel(index, "removed, while loading");
  Refuse(&model, "the model '" + model.entry.name + "' was removed");
}

}  // namespace cairn
