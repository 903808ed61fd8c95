#include "lab/cmd/model_make.h"

#include <CLI/CLI.hpp>
#include <cstdio>

#include "base/text.h"
#include "cmd/lib/progress_line.h"
#include "lab/cmd/print_error.h"
#include "lab/maker/encoder_recipe.h"
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

}  // namespace cairn
