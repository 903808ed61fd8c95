// POST /infill: code to be written between a prefix and a suffix, as llama.vim and llama.vscode ask
// for it. The answer is llama-server's /completion.
//
// The prompt is laid out as llama-server does, with the vocabulary's own tokens:
//
//   [repository]myproject [separator]file chunk … [separator]filename | [prefix]… [suffix]…
//   [middle]
//   '------------ the chunks of input_extra, the oldest first --------'
//
// Its shape names where each chunk, the prefix and the suffix begin, so that the chunks stay cached
// while the cursor moves.

#ifndef CAIRN_API_LLAMA_SERVER_INFILL_H_
#define CAIRN_API_LLAMA_SERVER_INFILL_H_

#include <cstddef>

#include "api/api_error.h"
#include "api/json.h"
#include "api/openai/completion.h"
#include "engine/engine.h"
#include "engine/infill_tokens.h"

namespace cairn {

struct InfillOptions {
  InfillTokens tokens;
  // The prefix takes three quarters of so many tokens, its end; the suffix the rest, its beginning.
  // As much of the context is kept free of chunks.
  size_t batch_tokens = 2048;
  bool suffix_first = false;  // suffix, prefix, middle: some models are trained so
};

// kUnsupported: the vocabulary lacks a token that the layout needs. Chunks that do not fit the
// context are left out, the oldest first. Any thread.
ApiResult<CompletionRequest> ParseInfill(const Engine& engine, const Json& body,
                                         const GenerationParams& defaults,
                                         const InfillOptions& options);

}  // namespace cairn

#endif  // CAIRN_API_LLAMA_SERVER_INFILL_H_
