// `cairn model check FILE`: loads a model and reports its memory class, the size of its snapshots
// and its exactness grid.

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

// Adds the subcommand `check` to `model` and returns it. Parsing fills `options`, which must
// outlive it; if the subcommand was chosen, call RunModelCheck.
CLI::App* AddModelCheck(CLI::App* model, ModelCheckOptions* options);

// Prints the result, or one line about the error on standard error. Returns the program's exit
// code.
int RunModelCheck(const ModelCheckOptions& options);

}  // namespace cairn

#endif  // CAIRN_CMD_MODEL_MODEL_CHECK_H_
