#include "lab/cmd/model_graft.h"

#include <CLI/CLI.hpp>
#include <cstdio>

#include "cmd/lib/progress_line.h"
#include "lab/maker/llama_graft.h"

namespace cairn {

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
