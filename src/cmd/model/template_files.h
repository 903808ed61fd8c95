// FindTemplateFiles: the chat templates at a path that a person names: a file of Jinja, a GGUF
// file, a tokenizer_config.json of Hugging Face, or a folder with any of them.

#ifndef CAIRN_CMD_MODEL_TEMPLATE_FILES_H_
#define CAIRN_CMD_MODEL_TEMPLATE_FILES_H_

#include <string>
#include <vector>

#include "base/result.h"

namespace cairn {

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

}  // namespace cairn

#endif  // CAIRN_CMD_MODEL_TEMPLATE_FILES_H_
