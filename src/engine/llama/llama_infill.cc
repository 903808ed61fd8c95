#include "engine/llama/llama_infill.h"

#include <llama.h>

namespace cairn {

InfillTokens FindInfillTokens(const LlamaEngine& engine) {
  const llama_vocab* vocab = llama_model_get_vocab(engine.model());
  return {llama_vocab_fim_pre(vocab), llama_vocab_fim_suf(vocab), llama_vocab_fim_mid(vocab),
          llama_vocab_fim_rep(vocab), llama_vocab_fim_sep(vocab)};
}

}  // namespace cairn
