// `cairn-lab model graft IN.gguf OUT.gguf`: puts a llama model's weights into a hybrid model.

#ifndef CAIRN_LAB_CMD_MODEL_GRAFT_H_
#define CAIRN_LAB_CMD_MODEL_GRAFT_H_

#include <string>

namespace CLI {
class App;
}

namespace cairn {

struct ModelGraftOptions {
  std::string from;
  std::string to;
  bool verbose = false;  // show libllama's log
};

// Adds the subcommand `graft` to `model` and returns it. Parsing fills `options`, which must
// outlive it; if the subcommand was chosen, call RunModelGraft.
CLI::App* AddModelGraft(CLI::App* model, ModelGraftOptions* options);

// Makes the model and prints one line about it, or one line about the error on standard error.
// Returns the program's exit code.
int RunModelGraft(const ModelGraftOptions& options);

}  // namespace cairn

#endif  // CAIRN_LAB_CMD_MODEL_GRAFT_H_
