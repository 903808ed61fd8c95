// The tokens of a loaded model's vocabulary for filling in.

#ifndef CAIRN_ENGINE_LLAMA_MODEL_LLAMA_INFILL_H_
#define CAIRN_ENGINE_LLAMA_MODEL_LLAMA_INFILL_H_

#include "engine/infill_tokens.h"
#include "engine/llama/llama_engine.h"

namespace cairn {

// As the model's file names them, or else as libllama knows them by their texts.
// REQUIRES: the engine does not sleep.
InfillTokens FindInfillTokens(const LlamaEngine& engine);

}  // namespace cairn

#endif  // CAIRN_ENGINE_LLAMA_MODEL_LLAMA_INFILL_H_
