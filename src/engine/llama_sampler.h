// A Sampler made of libllama's own. For llama_*.cc only.

#ifndef CAIRN_ENGINE_LLAMA_SAMPLER_H_
#define CAIRN_ENGINE_LLAMA_SAMPLER_H_

#include <memory>

#include "engine/engine.h"

namespace cairn {

std::unique_ptr<Sampler> MakeLlamaSampler(const SamplingParams& params, size_t vocab_size);

}  // namespace cairn

#endif  // CAIRN_ENGINE_LLAMA_SAMPLER_H_
