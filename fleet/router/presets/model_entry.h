// ModelEntry: a model that the router can serve, as the folder and the presets describe it.

#ifndef CAIRN_FLEET_ROUTER_PRESETS_MODEL_ENTRY_H_
#define CAIRN_FLEET_ROUTER_PRESETS_MODEL_ENTRY_H_

#include <string>
#include <vector>

namespace cairn {

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

}  // namespace cairn

#endif  // CAIRN_FLEET_ROUTER_PRESETS_MODEL_ENTRY_H_
