// The flags of `cairn serve` for LoRA adapters, as given on the command line. Part of ServeOptions.

#ifndef CAIRN_CMD_SERVE_ADAPTERS_ADAPTER_OPTIONS_H_
#define CAIRN_CMD_SERVE_ADAPTERS_ADAPTER_OPTIONS_H_

#include <string>
#include <vector>

namespace cairn {

struct AdapterOptions {
  std::vector<std::string> files;
  std::vector<std::string> scaled_files;  // "FILE:SCALE"
  bool without_apply = false;             // every scale is 0 until a request sets another
};

}  // namespace cairn

#endif  // CAIRN_CMD_SERVE_ADAPTERS_ADAPTER_OPTIONS_H_
