// `cairn-lab model make-projector KIND OUT.gguf`: writes a synthetic projector for tests.

#ifndef CAIRN_LAB_CMD_MODEL_MAKE_PROJECTOR_H_
#define CAIRN_LAB_CMD_MODEL_MAKE_PROJECTOR_H_

#include <string>

#include "lab/maker/projector_recipe.h"

namespace CLI {
class App;
}

namespace cairn {

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

}  // namespace cairn

#endif  // CAIRN_LAB_CMD_MODEL_MAKE_PROJECTOR_H_
