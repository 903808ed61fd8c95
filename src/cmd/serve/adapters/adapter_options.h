// The flags of `cairn serve` for LoRA adapters and control vectors, as given on the command line.
// Part of ServeOptions.

#ifndef CAIRN_CMD_SERVE_ADAPTERS_ADAPTER_OPTIONS_H_
#define CAIRN_CMD_SERVE_ADAPTERS_ADAPTER_OPTIONS_H_

#include <cstdint>
#include <string>
#include <vector>

namespace cairn {

struct AdapterOptions {
  std::vector<std::string> files;
  std::vector<std::string> scaled_files;  // "FILE:SCALE"
  bool without_apply = false;             // every scale is 0 until a request sets another

  // Control vectors (engine/llama/model/control_vector.h).
  std::vector<std::string> control_files;
  std::vector<std::string> control_scaled_files;  // "FILE:SCALE"
  std::vector<int32_t> control_layers;            // the first and the last one; empty: all
};

}  // namespace cairn

#endif  // CAIRN_CMD_SERVE_ADAPTERS_ADAPTER_OPTIONS_H_
