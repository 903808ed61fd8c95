// `cairn model check FILE`: loads a model and says what its memory is like: what going back costs,
// and on which grid it is exact.

#ifndef CAIRN_CMD_MODEL_MODEL_CHECK_H_
#define CAIRN_CMD_MODEL_MODEL_CHECK_H_

#include "engine/llama/model/llama_options.h"

namespace CLI {
class App;
}

namespace cairn {

struct ModelCheckOptions {
  LlamaOptions llama;
  bool json = false;
  bool verbose = false;  // show libllama's log

  ModelCheckOptions();
};

// Adds the subcommand `check` to `model`. Parsing fills `options`, which must outlive it; when the
// subcommand returned was chosen, call RunModelCheck.
CLI::App* AddModelCheck(CLI::App* model, ModelCheckOptions* options);

// Prints what was found, or one line on standard error about what went wrong. Returns the
// program's exit code.
int RunModelCheck(const ModelCheckOptions& options);

}  // namespace cairn

#endif  // CAIRN_CMD_MODEL_MODEL_CHECK_H_
