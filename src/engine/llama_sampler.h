// A Sampler made of libllama's own. For llama_*.cc only.

#ifndef CAIRN_ENGINE_LLAMA_SAMPLER_H_
#define CAIRN_ENGINE_LLAMA_SAMPLER_H_

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "engine/engine.h"

struct llama_vocab;

namespace cairn {

// The texts of a vocabulary, as a grammar sees them: control tokens have none.
struct TokenTexts {
  std::vector<std::string> texts;
  std::vector<bool> ends;  // IsEndOfGeneration
};

struct SampledModel {
  const llama_vocab* vocab = nullptr;  // outlives the sampler
  size_t vocab_size = 0;
  size_t context_tokens = 0;
  std::shared_ptr<const TokenTexts> texts;               // may be null where there is no grammar
  std::vector<std::pair<Token, std::string>> tags = {};  // control tokens with a text all the same
};

std::unique_ptr<Sampler> MakeLlamaSampler(const SamplingParams& params, SampledModel model);

}  // namespace cairn

#endif  // CAIRN_ENGINE_LLAMA_SAMPLER_H_
