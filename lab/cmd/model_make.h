// `cairn-lab model make ARCH OUT.gguf`: writes a synthetic model for tests and demos.

#ifndef CAIRN_LAB_CMD_MODEL_MAKE_H_
#define CAIRN_LAB_CMD_MODEL_MAKE_H_

#include <string>

#include "lab/maker/model_recipe.h"

namespace CLI {
class App;
}

namespace cairn {

struct ModelMakeOptions {
  ModelShape shape;
  std::string path;  // of the file to make
  std::string quant = "q8_0";
  bool verbose = false;  // show libllama's log
};

// Adds the subcommand `make` to `model` and returns it. Parsing fills `options`, which must outlive
// it; if the subcommand was chosen, call RunModelMake.
CLI::App* AddModelMake(CLI::App* model, ModelMakeOptions* options);

// Makes the model and prints one line about it, or one line about the error on standard error.
// Returns the program's exit code.
int RunModelMake(const ModelMakeOptions& options);

}  // namespace cairn

#endif  // CAIRN_LAB_CMD_MODEL_MAKE_H_
