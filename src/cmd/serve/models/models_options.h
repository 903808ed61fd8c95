// ModelsOptions: what the flags of `cairn serve` say about several models behind one port.

#ifndef CAIRN_CMD_SERVE_MODELS_MODELS_OPTIONS_H_
#define CAIRN_CMD_SERVE_MODELS_MODELS_OPTIONS_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "router/presets/models_folder.h"

namespace cairn {

struct ModelsOptions {
  std::string folder;       // of --models-dir; empty if not given
  std::string preset_file;  // of --models-preset; empty if not given
  // The models that were downloaded before, to be served because no flag names one.
  std::vector<FoundModel> cached;
  size_t models_max = 4;  // 0 for no limit
  // Memory for weights and contexts of all loaded models; 0: no limit. Not given: what the machine
  // has beside --cache-ram.
  std::optional<int64_t> memory_mib;
  bool autoload = true;
  int64_t ttl_s = -1;  // negative for never

  // Whether the server is a router for several models.
  bool given() const { return !cached.empty() || !folder.empty() || !preset_file.empty(); }
};

}  // namespace cairn

#endif  // CAIRN_CMD_SERVE_MODELS_MODELS_OPTIONS_H_
