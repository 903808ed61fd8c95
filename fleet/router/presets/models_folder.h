// ListModels: the models of the folder of `--models-dir`.
//
//   DIR/gemma.gguf                      gemma
//   DIR/big-00001-of-00003.gguf         big; the other parts are read by libllama
//   DIR/qwen/qwen-q4_k_m.gguf           qwen, with the projector beside it
//   DIR/qwen/mmproj-f16.gguf

#ifndef CAIRN_FLEET_ROUTER_PRESETS_MODELS_FOLDER_H_
#define CAIRN_FLEET_ROUTER_PRESETS_MODELS_FOLDER_H_

#include <string>
#include <vector>

#include "base/result.h"

namespace cairn {

struct FoundModel {
  std::string name;       // the file's without its end, or that of the folder that it is in
  std::string path;       // for a model in parts, the first one
  std::string projector;  // empty if there is none
};

// Returns the models sorted by name; when a file and a folder have the same name, the file. A
// folder without a model is left out, and in one with several the first by name is the model.
// kNotFound if there is no such folder, and kUnavailable if it cannot be read.
Result<std::vector<FoundModel>> ListModels(const std::string& folder);

}  // namespace cairn

#endif  // CAIRN_FLEET_ROUTER_PRESETS_MODELS_FOLDER_H_
