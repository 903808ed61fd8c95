#include "engine/llama/gguf/model_metadata.h"

#include <llama.h>

#include <array>

namespace cairn {

std::string ModelMetadata(const llama_model* model, const std::string& key) {
  std::array<char, 1024> text{};
  const int32_t length = llama_model_meta_val_str(model, key.c_str(), text.data(), text.size());
  return length < 0 ? "" : std::string(text.data());
}

std::string ArchitectureOf(const llama_model* model) {
  return ModelMetadata(model, "general.architecture");
}

}  // namespace cairn
