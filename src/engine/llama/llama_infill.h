// FindInfillTokens: finds the fill-in-the-middle tokens of a loaded model's vocabulary.

#ifndef CAIRN_ENGINE_LLAMA_LLAMA_INFILL_H_
#define CAIRN_ENGINE_LLAMA_LLAMA_INFILL_H_

#include "engine/infill_tokens.h"
#include "engine/llama/llama_engine.h"

namespace cairn {

// Returns the tokens that the model's file names, or else those that libllama recognizes by their
// texts. REQUIRES: the engine's model is loaded.
InfillTokens FindInfillTokens(const LlamaEngine& engine);

}  // namespace cairn

#endif  // CAIRN_ENGINE_LLAMA_LLAMA_INFILL_H_
