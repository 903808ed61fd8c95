// FindBatchDifference: whether a token's bits depend on the tokens that are decoded with it.
// MixesUpTokens, MixesUpSequences: whether kernels are wrong where many tokens, or several
// sequences, are decoded together.
//
//   one by one    | t0 | t1 | t2 | … | t8 | and one more
//   together      | t0   t1   t2   …   t8 | and one more: are all rows of logits the same to the
//   bit?
//
// Speculative decoding decodes several tokens together where an answer without it decodes them one
// by one. A probe finds differences; it cannot prove that there is none.
//
// Threads: the one that owns the context.

#ifndef CAIRN_ENGINE_BATCH_PROBE_H_
#define CAIRN_ENGINE_BATCH_PROBE_H_

#include <cstddef>

#include "base/result.h"
#include "engine/engine.h"

namespace cairn {

// Decodes up to `tokens_max` tokens together. Returns the least number of tokens that changed a
// bit; 0: none was seen. Errors are those of Decode. REQUIRES: sequence 0 is empty, and is again
// afterwards; tokens_max < chunk_tokens_max().
Result<size_t> FindBatchDifference(Engine* engine, size_t tokens_max);

// The least number of tokens that ggml multiplies in tiles.
inline constexpr size_t kTiledChunkTokens = 32;
// Decodes so many first tokens of a sequence as one chunk, and as two. Returns whether the logits
// differ by far more than rounding. Errors are those of Decode. REQUIRES: sequence 0 is empty, and
// is again afterwards; there is room for them.
Result<bool> MixesUpTokens(Engine* engine);
// Decodes the first tokens of two sequences together, and each alone. Returns whether their logits
// differ by far more than rounding. Errors are those of Decode. REQUIRES: sequences 0 and 1 are
// empty, and are again afterwards.
Result<bool> MixesUpSequences(Engine* engine);

}  // namespace cairn

#endif  // CAIRN_ENGINE_BATCH_PROBE_H_
