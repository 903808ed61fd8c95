#include "lab/cmd/model_make.h"

#include <CLI/CLI.hpp>
#include <cstdio>

#include "base/text.h"
#include "cmd/lib/progress_line.h"
#include "lab/cmd/print_error.h"
#include "lab/maker/encoder_recipe.h"
#include "lab/maker/llama_graft.h"
#include "lab/maker/llama_model_maker.h"

namespace cairn {

namespace {}  // namespace

CLI::App* AddModelMake(CLI::App* model, ModelMakeOptions* options) {
  CLI::App* make = model->add_subcommand(
      "make", "Make a synthetic model: a real architecture with random weights and byte tokens");
  ModelShape& shape = options->shape;
  make->add_option("architecture", shape.architecture,
                   "One of " + JoinNames(KnownArchitectures()) +
                       "; or an encoder: " + JoinNames(KnownEncoders()))
      ->required();
  make->add_option("file", options->path, "GGUF file to write")->required();
  // Each architecture has its defaults. 0 would select them, so it is refused as an argument.
  const CLI::Validator& positive = CLI::PositiveNumber;
  make->add_option("--width", shape.width, "Embedding size")->check(positive);
  make->add_option("--layers", shape.layers, "Number of layers")->check(positive);
  make->add_option("--ff", shape.ff, "Width of the feed-forward layers")->check(positive);
  make->add_option("--heads", shape.heads, "Number of attention or state heads")->check(positive);
  make->add_option("--window", shape.window_tokens, "Sliding window in tokens")->check(positive);
  make->add_option("--train-ctx", shape.train_context_tokens,
                   "Training context in tokens (default: 262144; an encoder: 512)")
      ->check(positive);
  make->add_option("--seed", shape.seed, "Seed of the random weights")->capture_default_str();
  make->add_flag("--infill", shape.infill, "Add the fill-in-the-middle tokens that /infill needs");
  make->add_flag("--rank", shape.ranks,
                 "Add the classification head that --reranking needs (qwen3, " +
                     JoinNames(KnownEncodersThatRank()) + " only)");
  make->add_flag("--unigram", shape.unigram,
                 "Give an encoder the kind of vocabulary that XLM-RoBERTa has, not BERT's");
  make->add_flag("--mtp", shape.mtp,
                 "Add a head for multi-token prediction with random weights (" +
                     JoinNames(KnownArchitecturesWithHeads()) + " only)");
  make->add_option("--mtp-right", shape.mtp_right,
                   "As --mtp, with a head that is right behind this share of the letters, and a "
                   "model whose text depends mostly on its last letter")
      ->check(CLI::Range(0.0F, 1.0F));
  make->add_option("--quant", options->quant,
                   "Data type of the weights: " + JoinNames(KnownQuants()))
      ->capture_default_str();
  make->add_flag("--verbose", options->verbose, "Show libllama's log");
  return make;
}

int RunModelMake(const ModelMakeOptions& options) {
  ModelShape shape = options.shape;
  if (shape.mtp_right >= 0) shape.mtp = true;
  const Result<ModelRecipe> recipe = MakeRecipe(shape);
  if (!recipe) return PrintError("model make", recipe.error().message);
  WriteOptions write_options;
  write_options.quant = options.quant;
  if (options.verbose) write_options.log = PrintLogLine;
  const Result<WrittenModel> written = WriteModel(*recipe, options.path, write_options);
  if (!written) return PrintError("model make", written.error().message);
  std::printf("%s: %s, %u wide, %u layers, %.2f million parameters, %s, %llu bytes\n",
              options.path.c_str(), recipe->shape.architecture.c_str(), recipe->shape.width,
              recipe->shape.layers, static_cast<double>(written->parameters) / 1e6,
              options.quant.c_str(), static_cast<unsigned long long>(written->file_bytes));
  return 0;
}

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

CLI::App* AddModelGraft(CLI::App* model, ModelGraftOptions* options) {
  CLI::App* graft = model->add_subcommand(
      "graft",
      "Put a llama model's weights into a hybrid frame (falcon-h1): the same answers, and a "
      "recurrent state that they do not depend on");
  graft->add_option("from", options->from, "The GGUF file of a llama model")->required();
  graft->add_option("to", options->to, "The GGUF file to write")->required();
  graft->add_flag("--verbose", options->verbose, "Show libllama's log");
  return graft;
}

int RunModelGraft(const ModelGraftOptions& options) {
  LogSink log;
  if (options.verbose) log = PrintLogLine;
  const Result<GraftedModel> grafted = GraftModel(options.from, options.to, log);
  if (!grafted) {
    std::fprintf(stderr, "cairn-lab model graft: %s\n", grafted.error().message.c_str());
    return 1;
  }
  std::printf(
      "%s: falcon-h1, the weights of %s in %u layers, %.1f MB of recurrent state, %llu "
      "bytes\n",
      options.to.c_str(), grafted->name.c_str(), grafted->layers,
      static_cast<double>(grafted->state_bytes) / 1e6,
      static_cast<unsigned long long>(grafted->file_bytes));
  return 0;
}

}  // namespace cairn
