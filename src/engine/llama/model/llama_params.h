// FillModelParams, MakeContextParams: convert LlamaOptions to libllama's parameter structs. For
// llama_*.cc only.

#ifndef CAIRN_ENGINE_LLAMA_MODEL_LLAMA_PARAMS_H_
#define CAIRN_ENGINE_LLAMA_MODEL_LLAMA_PARAMS_H_

#include <llama.h>

#include <vector>

#include "base/result.h"
#include "engine/llama/model/llama_options.h"

namespace cairn {

// Owns the memory that the C struct points to.
struct LlamaModelParams {
  llama_model_params params = llama_model_default_params();
  std::vector<float> tensor_split;
  std::vector<std::string> patterns;
  std::vector<llama_model_tensor_buft_override> overrides;
  std::vector<llama_model_kv_override> kv_overrides;
  std::vector<ggml_backend_dev_t> devices;  // with a null pointer at the end; empty: all
};

// kInvalidArgument for a bad option; the message names it and its allowed values. `options` must
// outlive `params`.
Status FillModelParams(const LlamaOptions& options, LlamaModelParams* params);
Result<llama_context_params> MakeContextParams(const LlamaOptions& options,
                                               const llama_model* model);

}  // namespace cairn

#endif  // CAIRN_ENGINE_LLAMA_MODEL_LLAMA_PARAMS_H_
