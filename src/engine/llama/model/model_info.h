// DescribeModel: reads a model file's description of itself. For src/engine/llama/ only.

#ifndef CAIRN_ENGINE_LLAMA_MODEL_MODEL_INFO_H_
#define CAIRN_ENGINE_LLAMA_MODEL_MODEL_INFO_H_

#include <string>

#include "engine/engine.h"
#include "engine/llama/model/llama_vocabulary.h"

namespace cairn {

ModelInfo DescribeModel(const llama_model* model, const LlamaVocabulary& vocabulary,
                        const std::string& path);

}  // namespace cairn

#endif  // CAIRN_ENGINE_LLAMA_MODEL_MODEL_INFO_H_
