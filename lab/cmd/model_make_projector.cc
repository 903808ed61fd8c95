#include "lab/cmd/model_make_projector.h"

#include <CLI/CLI.hpp>
#include <cstdio>

#include "base/text.h"
#include "lab/cmd/print_error.h"
#include "lab/maker/llama_projector_maker.h"

namespace cairn {
namespace {}  // namespace

CLI::App* AddModelMakeProjector(CLI::App* model, ModelMakeProjectorOptions* options) {
  CLI::App* make = model->add_subcommand("make-projector",
                                         "Make a synthetic projector (mmproj): an encoder of "
                                         "images or recordings with random weights");
  ProjectorShape& shape = options->shape;
  make->add_option("kind", shape.kind, "One of " + JoinNames(KnownProjectors()))->required();
  make->add_option("file", options->path, "GGUF file to write")->required();
  make->add_option("--width", shape.width, "Embedding size of the text model")
      ->required()
      ->check(CLI::PositiveNumber);
  make->add_option("--seed", shape.seed, "Seed of the random weights")->capture_default_str();
  return make;
}

int RunModelMakeProjector(const ModelMakeProjectorOptions& options) {
  const Result<ProjectorRecipe> recipe = MakeProjectorRecipe(options.shape);
  if (!recipe) return PrintError("model make-projector", recipe.error().message);
  const Result<WrittenModel> written = WriteProjector(*recipe, options.path);
  if (!written) return PrintError("model make-projector", written.error().message);
  std::printf("%s: %s for models %u wide, %.2f million parameters, %llu bytes\n",
              options.path.c_str(), options.shape.kind.c_str(), options.shape.width,
              static_cast<double>(written->parameters) / 1e6,
              static_cast<unsigned long long>(written->file_bytes));
  return 0;
}

}  // namespace cairn
