// The flags of `cairn serve` for several models behind one port, with llama-server's names.

#ifndef CAIRN_CMD_SERVE_BASE_MODELS_FLAGS_H_
#define CAIRN_CMD_SERVE_BASE_MODELS_FLAGS_H_

#include "cmd/serve/base/serve_options.h"

namespace CLI {
class App;
}

namespace cairn {

void AddModelsFlags(CLI::App* serve, ModelsOptions* options);

}  // namespace cairn

#endif  // CAIRN_CMD_SERVE_BASE_MODELS_FLAGS_H_
