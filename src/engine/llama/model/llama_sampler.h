// MakeLlamaSampler: makes a Sampler from libllama's samplers. For llama_*.cc only.

#ifndef CAIRN_ENGINE_LLAMA_MODEL_LLAMA_SAMPLER_H_
#define CAIRN_ENGINE_LLAMA_MODEL_LLAMA_SAMPLER_H_

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "engine/engine.h"
#include "engine/grammar/grammar_states.h"
#include "engine/grammar/token_trie.h"

struct llama_sampler;  // NOLINT(readability-identifier-naming): libllama's
struct llama_vocab;

namespace cairn {

// The texts of a vocabulary, as a grammar sees them: control tokens have none.
struct TokenTexts {
  std::vector<std::string> texts;
  std::vector<bool> ends;  // IsEndOfGeneration
  TokenTrie trie;          // of the texts of those that do not end
};

// DrySamplers: keeps DRY samplers for copying, because libllama searches the complete vocabulary
// for each breaker, and the n answers of one request have the same breakers. Threads: the one that
// owns the context.
class DrySamplers {
 public:
  DrySamplers();
  ~DrySamplers();
  DrySamplers(const DrySamplers&) = delete;
  DrySamplers& operator=(const DrySamplers&) = delete;

  // Returns a copy, which the caller owns. `last_n` is not negative.
  llama_sampler* Make(const llama_vocab* vocab, const DryParams& dry, int32_t last_n);
  size_t made() const { return made_; }

 private:
  struct Made;
  std::deque<Made> samplers_;  // the newest last
  size_t made_ = 0;
};

struct SampledModel {
  const llama_vocab* vocab = nullptr;  // must outlive the sampler
  size_t vocab_size = 0;
  size_t context_tokens = 0;
  // Must outlive the call of MakeLlamaSampler.
  DrySamplers* dry = nullptr;
  // These two may be nullptr if there is no grammar. The second as `dry`.
  std::shared_ptr<const TokenTexts> texts = nullptr;
  KeptGrammarStates* grammars = nullptr;
  // Control tokens that have a text all the same.
  std::vector<std::pair<Token, std::string>> tags = {};
};

std::unique_ptr<Sampler> MakeLlamaSampler(const SamplingParams& params, SampledModel model);

}  // namespace cairn

#endif  // CAIRN_ENGINE_LLAMA_MODEL_LLAMA_SAMPLER_H_
