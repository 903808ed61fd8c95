// ReadTemplateTexts: the chat templates in a model's file, and the texts of the tokens that they
// name. The model is not loaded, so its architecture may be one that libllama does not know.

#ifndef CAIRN_ENGINE_LLAMA_GGUF_TEMPLATE_TEXTS_H_
#define CAIRN_ENGINE_LLAMA_GGUF_TEMPLATE_TEXTS_H_

#include <string>

#include "base/result.h"

namespace cairn {

// Each is empty if the file does not have it.
struct TemplateTexts {
  std::string usual = {};
  std::string with_tools = {};
  std::string bos_text = {};
  std::string eos_text = {};
};

// Reads the metadata of the one file, which may be the first of a split model. Returns kNotFound if
// it is no GGUF file or is damaged, with ggml's reason. Nothing else may use libllama meanwhile:
// its log goes nowhere afterwards.
Result<TemplateTexts> ReadTemplateTexts(const std::string& path);

}  // namespace cairn

#endif  // CAIRN_ENGINE_LLAMA_GGUF_TEMPLATE_TEXTS_H_
