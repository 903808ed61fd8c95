// Synthetic models (lab/maker/model_recipe.h), loaded for a benchmark, and prompts for them.

#ifndef CAIRN_BENCH_MADE_ENGINE_H_
#define CAIRN_BENCH_MADE_ENGINE_H_

#include <cstdint>
#include <memory>

#include "base/result.h"
#include "base/tokens.h"
#include "engine/llama/llama_engine.h"
#include "lab/maker/model_recipe.h"

namespace cairn::bench {

// The grid of checkpoints; fixed here, so that loading need not measure it.
inline constexpr size_t kGridTokens = 64;

// Makes the model in a temporary file, which is removed once the model is loaded.
Result<std::unique_ptr<LlamaEngine>> LoadMade(const ModelShape& shape, size_t context_tokens,
                                              int threads);

// Returns random letters.
Tokens RandomTokens(size_t tokens, uint64_t seed);

// Prefills `tokens` into sequence 0, which ends at `begin`.
Status ReadTokens(Engine* engine, size_t begin, TokenSpan tokens);

}  // namespace cairn::bench

#endif  // CAIRN_BENCH_MADE_ENGINE_H_
