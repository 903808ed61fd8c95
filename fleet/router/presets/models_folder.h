// ListModels: the models of the folder of `--models-dir`.
//
//   DIR/gemma.gguf                      gemma
//   DIR/big-00001-of-00003.gguf         big; the other parts are read by libllama
//   DIR/qwen/qwen-q4_k_m.gguf           qwen, with the projector beside it
//   DIR/qwen/mmproj-f16.gguf

#ifndef CAIRN_FLEET_ROUTER_PRESETS_MODELS_FOLDER_H_
#define CAIRN_FLEET_ROUTER_PRESETS_MODELS_FOLDER_H_

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"

namespace cairn {

// ModelEntry: a model that the router can serve, as the folder and the presets describe it.
struct ModelEntry {
  std::string name;
  std::vector<std::string> aliases;    // further names under which requests may ask for it
  std::vector<std::string> tags;       // for people
  std::vector<std::string> arguments;  // of `cairn serve`
  std::string source;                  // "models_dir" or "preset", as in llama-server
  std::string preset;                  // its section of the presets as text; empty if it has none
  bool pinned = false;                 // never unloaded for another model or for being idle
  bool load_on_startup = false;
  double idle_s_max = -1;      // after so long without a request it is unloaded; negative: never
  double stop_timeout_s = 40;  // from SIGTERM to SIGKILL; includes saving the cache

  bool operator==(const ModelEntry&) const = default;
};

struct FoundModel {
  std::string name;       // the file's without its end, or that of the folder that it is in
  std::string path;       // for a model in parts, the first one
  std::string projector;  // empty if there is none
};

// Returns the models sorted by name; when a file and a folder have the same name, the file. A
// folder without a model is left out, and in one with several the first by name is the model.
// kNotFound if there is no such folder, and kUnavailable if it cannot be read.
Result<std::vector<FoundModel>> ListModels(const std::string& folder);

// Returns the sizes of the GGUF files that the model's flags name, of all parts of a model in
// parts. A file that cannot be looked at counts nothing.
uint64_t FileBytes(const ModelEntry& model);

}  // namespace cairn

#endif  // CAIRN_FLEET_ROUTER_PRESETS_MODELS_FOLDER_H_
