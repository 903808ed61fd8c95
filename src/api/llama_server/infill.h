// POST /infill: code between a prefix and a suffix, for llama.vim and llama.vscode. The answer has
// the format of llama-server's /completion.
//
// The prompt has llama-server's layout, with the vocabulary's fill-in-the-middle tokens:
//
//   [repository]myproject [separator]file chunk …           the chunks of input_extra, oldest first
//   [separator]filename [prefix]… [suffix]… [middle]         the file that is edited
//
// Its shape marks the start of each chunk, of the prefix and of the suffix, so that the chunks stay
// cached while the cursor moves.

#ifndef CAIRN_API_LLAMA_SERVER_INFILL_H_
#define CAIRN_API_LLAMA_SERVER_INFILL_H_

#include <cstddef>

#include "api/api_error.h"
#include "api/json.h"
#include "api/openai/completion_request.h"
#include "api/service/chat_service.h"
#include "engine/infill_tokens.h"

namespace cairn {

struct InfillOptions {
  InfillTokens tokens;
  // Token budget of prefix and suffix: the end of the prefix takes up to three quarters, the start
  // of the suffix the rest. The same number of tokens of the context is kept free of chunks.
  size_t batch_tokens = 2048;
  bool suffix_first = false;  // the order suffix, prefix, middle, for models trained that way
};

// kUnsupported if the vocabulary lacks a token of the layout. Chunks that do not fit the context
// are dropped, oldest first; all texts together have at most as many bytes as PromptLimits lets be
// counted. Any thread.
ApiResult<CompletionRequest> ParseInfill(const ChatService& service, const Json& body,
                                         const GenerationParams& defaults,
                                         const InfillOptions& options);

// Whether a request of OpenAI's completions has a `suffix`, which makes it one to fill a gap.
bool HasSuffix(const Json& body);

// The same for OpenAI's completions with a `suffix`: the prompt is the text before the gap. A 400
// if the vocabulary lacks the tokens, or if the prompt is no single text.
ApiResult<CompletionRequest> ParseSuffixCompletion(const ChatService& service, const Json& body,
                                                   const GenerationParams& defaults,
                                                   const InfillOptions& options);

}  // namespace cairn

#endif  // CAIRN_API_LLAMA_SERVER_INFILL_H_
