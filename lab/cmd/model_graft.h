// `cairn-lab model graft IN.gguf OUT.gguf`: a llama model's weights in a hybrid model's frame.

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

// Adds the subcommand `graft` to `model`. Parsing fills `options`, which must outlive it; when the
// subcommand returned was chosen, call RunModelGraft.
CLI::App* AddModelGraft(CLI::App* model, ModelGraftOptions* options);

// Makes the file and prints one line about it, or one line on standard error about what went wrong.
// Returns the program's exit code.
int RunModelGraft(const ModelGraftOptions& options);

}  // namespace cairn

#endif  // CAIRN_LAB_CMD_MODEL_GRAFT_H_
