// CachedModels: the models that were downloaded before, by Cairn, llama-server or huggingface_hub.
// `cairn serve` without a model serves them all, and `cairn serve --cache-list` lists them.

#ifndef CAIRN_CMD_SERVE_MODELS_CACHED_MODELS_H_
#define CAIRN_CMD_SERVE_MODELS_CACHED_MODELS_H_

#include <string>
#include <vector>

#include "fleet/router/presets/models_folder.h"

namespace cairn {

// Returns the complete models of the hub's folder, named USER/REPO:QUANT as `-hf` takes them,
// sorted by name; of a repository those of its newest commit that has any.
std::vector<FoundModel> CachedModelsIn(const std::string& hub_folder);
// The same of the folder that the environment names.
std::vector<FoundModel> CachedModels();

// Returns a line for each of them.
std::string CachedModelsList();

}  // namespace cairn

#endif  // CAIRN_CMD_SERVE_MODELS_CACHED_MODELS_H_
