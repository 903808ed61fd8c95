// WriteAdapter: makes the GGUF file of a synthetic LoRA adapter for a synthetic model.

#ifndef CAIRN_LAB_MAKER_LLAMA_ADAPTER_MAKER_H_
#define CAIRN_LAB_MAKER_LLAMA_ADAPTER_MAKER_H_

#include <cstdint>
#include <string>

#include "base/log.h"
#include "base/result.h"
#include "lab/maker/model_recipe.h"

namespace cairn {

struct AdapterShape {
  uint32_t rank = 4;
  float strength = 1;  // how much it changes beside the weights themselves, at scale 1
  uint64_t seed = 1;   // of the weights
};

// Makes an adapter that changes the attention and feed-forward weights of the model of `recipe` at
// `path`; an existing file is replaced atomically. The same recipe and shape give the same bytes.
// Any thread. Errors as WriteModel's.
Status WriteAdapter(const ModelRecipe& recipe, const AdapterShape& shape, const std::string& path,
                    const LogSink& log = {});

}  // namespace cairn

#endif  // CAIRN_LAB_MAKER_LLAMA_ADAPTER_MAKER_H_
