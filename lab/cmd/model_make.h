// `cairn-lab model make ARCH OUT.gguf`: writes a synthetic model for tests and demos.

#ifndef CAIRN_LAB_CMD_MODEL_MAKE_H_
#define CAIRN_LAB_CMD_MODEL_MAKE_H_

#include <string>

#include "lab/maker/model_recipe.h"
#include "lab/maker/projector_recipe.h"

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

// `cairn-lab model make-projector KIND OUT.gguf`: writes a synthetic projector for tests.
struct ModelMakeProjectorOptions {
  ProjectorShape shape;
  std::string path;  // of the file to make
};

// Adds the subcommand `make-projector` to `model` and returns it. Parsing fills `options`, which
// must outlive it; if the subcommand was chosen, call RunModelMakeProjector.
CLI::App* AddModelMakeProjector(CLI::App* model, ModelMakeProjectorOptions* options);

// Makes the projector and prints one line about it, or one line about the error on standard error.
// Returns the program's exit code.
int RunModelMakeProjector(const ModelMakeProjectorOptions& options);

// `cairn-lab model graft IN.gguf OUT.gguf`: puts a llama model's weights into a hybrid model.
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

#endif  // CAIRN_LAB_CMD_MODEL_MAKE_H_
