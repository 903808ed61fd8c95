// `cairn model codecs FILE`: loads a model and measures what each codec makes of its states.

#ifndef CAIRN_CMD_MODEL_CODECS_H_
#define CAIRN_CMD_MODEL_CODECS_H_

#include <cstddef>
#include <string>

#include "engine/llama_options.h"

namespace CLI {
class App;
}

namespace cairn {

struct ModelCodecsOptions {
  LlamaOptions llama;
  std::string prompt_path;  // empty: a text of our own
  size_t prompt_tokens = 4096;
  size_t tokens = 1000;
  bool json = false;
};

// Adds the subcommand `codecs` to `model`. Parsing fills `options`, which must outlive it; when the
// subcommand returned was chosen, call RunModelCodecs.
CLI::App* AddModelCodecs(CLI::App* model, ModelCodecsOptions* options);

// Prints what was measured, or one line on standard error about what went wrong. Returns the
// program's exit code.
int RunModelCodecs(const ModelCodecsOptions& options);

}  // namespace cairn

#endif  // CAIRN_CMD_MODEL_CODECS_H_
