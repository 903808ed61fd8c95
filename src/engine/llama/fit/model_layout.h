// ModelLayout: how many bytes each part of a model takes on the device that holds it, read from the
// file's metadata before the model is loaded. Nothing is allocated, and no tensor is read.
//
// Threads: any.

#ifndef CAIRN_ENGINE_LLAMA_FIT_MODEL_LAYOUT_H_
#define CAIRN_ENGINE_LLAMA_FIT_MODEL_LAYOUT_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"

namespace cairn {

struct LayerLayout {
  uint64_t weight_bytes = 0;  // the experts included
  uint64_t expert_bytes = 0;  // of a mixture of experts; --n-cpu-moe leaves them on the CPU
  uint64_t k_elements = 0;    // in the KV cache, for each token
  uint64_t v_elements = 0;
  bool windowed = false;     // the layer attends to ModelLayout::window_tokens only
  uint64_t state_bytes = 0;  // recurrent state, for each slot
};

struct ModelLayout {
  std::vector<LayerLayout> layers;
  // The output layer. Token embeddings stay on the CPU; a model without an output matrix of its own
  // has a copy of them here.
  uint64_t output_bytes = 0;
  uint64_t vocabulary_tokens = 0;
  uint64_t embedding_size = 0;
  uint64_t window_tokens = 0;  // 0: no layer is windowed
  uint64_t trained_tokens = 0;

  bool has_experts() const;
};

// `path`: as in LlamaOptions::model_path; the siblings of a split file are read too. kNotFound or
// kCorrupt if a file cannot be read or lacks what every model has.
Result<ModelLayout> ReadModelLayout(const std::string& path);

}  // namespace cairn

#endif  // CAIRN_ENGINE_LLAMA_FIT_MODEL_LAYOUT_H_
