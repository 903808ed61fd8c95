// `cairn model template FILE`: prints what the server learns of a chat template, and what of it is
// not supported.

#ifndef CAIRN_CMD_MODEL_MODEL_TEMPLATE_H_
#define CAIRN_CMD_MODEL_MODEL_TEMPLATE_H_

#include <string>
#include <vector>

#include "base/result.h"

namespace CLI {
class App;
}

namespace cairn {

// FindTemplateFiles: the chat templates at a path that a person names: a file of Jinja, a GGUF
// file, a tokenizer_config.json of Hugging Face, or a folder with any of them.
struct TemplateFile {
  std::string path = {};
  // With the template for tools beside the usual one, if there are two.
  std::string source = {};
  // The values of bos_token and eos_token; empty where the file does not say them.
  std::string bos_text = {};
  std::string eos_text = {};
};

// In a folder, files without a template are left out, and so are the later parts of split models.
// Returns an error if `path` cannot be read or nothing there has a template. Any thread.
Result<std::vector<TemplateFile>> FindTemplateFiles(const std::string& path);

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
