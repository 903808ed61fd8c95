// `cairn model template FILE`: prints what the server learns of a chat template, and what of it is
// not supported.

#ifndef CAIRN_CMD_MODEL_MODEL_TEMPLATE_H_
#define CAIRN_CMD_MODEL_MODEL_TEMPLATE_H_

#include <string>

namespace CLI {
class App;
}

namespace cairn {

struct ModelTemplateOptions {
  std::string path;
  bool json = false;
};

// Adds the subcommand `template` to `model` and returns it. Parsing fills `options`, which must
// outlive it; if the subcommand was chosen, call RunModelTemplate.
CLI::App* AddModelTemplate(CLI::App* model, ModelTemplateOptions* options);

// Prints the reports, or one line about the error on standard error. Returns the program's exit
// code: 1 also if a template cannot be read.
int RunModelTemplate(const ModelTemplateOptions& options);

}  // namespace cairn

#endif  // CAIRN_CMD_MODEL_MODEL_TEMPLATE_H_
