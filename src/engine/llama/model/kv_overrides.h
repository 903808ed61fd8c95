// MakeKvOverrides: metadata of the model's file that --override-kv replaces, for libllama. For
// llama_*.cc and loaded_model.cc only.

#ifndef CAIRN_ENGINE_LLAMA_MODEL_KV_OVERRIDES_H_
#define CAIRN_ENGINE_LLAMA_MODEL_KV_OVERRIDES_H_

#include <llama.h>

#include <string>
#include <vector>

#include "base/result.h"

namespace cairn {

// `texts` are of the form KEY=TYPE:VALUE, with the types int, float, bool and str. Returns the list
// that llama_model_params::kv_overrides takes, with its end; empty if there are no texts.
// kInvalidArgument names the text that is wrong.
Result<std::vector<llama_model_kv_override>> MakeKvOverrides(const std::vector<std::string>& texts);

}  // namespace cairn

#endif  // CAIRN_ENGINE_LLAMA_MODEL_KV_OVERRIDES_H_
