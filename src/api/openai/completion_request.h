// Requests for plain completions, in two dialects: OpenAI's POST /v1/completions and llama-server's
// POST /completion. A prompt is a text, with or without media, or a list of tokens, without
// template and messages (api/openai/completion_prompt.h); a request may have several.

#ifndef CAIRN_API_OPENAI_COMPLETION_REQUEST_H_
#define CAIRN_API_OPENAI_COMPLETION_REQUEST_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "api/api_error.h"
#include "api/json.h"
#include "api/media/placed_medium.h"
#include "api/openai/completion_prompt.h"
#include "api/request/answer_options.h"
#include "api/service/chat_service.h"

namespace cairn {

enum class CompletionDialect : uint8_t { kOpenAi, kNative };

struct CompletionRequest {
  Tokens prompt;
  PromptShape shape;                     // of the prompt
  std::vector<PlacedMedium> media = {};  // in the prompt
  std::string prompt_text;               // as the client wrote it; empty for a list of tokens
  // The prompts after the first one. All get answers of the same parameters.
  std::vector<CompletionPrompt> more_prompts = {};
  GenerationParams params;
  bool stream = false;
  AnswerOptions options;
  bool reuse = true;
  // OpenAI's: the answer begins with the prompt. With `logprobs` it has those of the prompt too
  // (GenerationParams::prompt_logprobs).
  bool echo = false;
  bool return_tokens = false;  // llama-server's: a whole answer has the ids of its tokens
  // llama-server's: the parts of a complete answer to return, such as "content" or
  // "timings/prompt_n"; empty for all.
  std::vector<std::string> response_fields;
  // llama-server's: milliseconds after the first token when an answer of several lines ends; 0 or
  // less for no limit.
  float line_ms_max = 0;
  // Keywords of a schema that the grammar does not enforce.
  Loosened loosened = {};
};

// `key`: the namespace of the client's key.
ApiResult<CompletionRequest> ParseCompletion(const ChatService& service, const Json& body,
                                             const GenerationParams& defaults,
                                             CompletionDialect dialect, NamespaceId key,
                                             const std::function<bool()>& gone = {});

// Parses all fields but the prompts, which `request` already has. `cache` may be null.
ApiResult<CompletionRequest> ParseCompletionFields(const Json& body,
                                                   const GenerationParams& defaults,
                                                   CompletionDialect dialect,
                                                   CompletionRequest request,
                                                   GrammarCache* cache = nullptr);

}  // namespace cairn

#endif  // CAIRN_API_OPENAI_COMPLETION_REQUEST_H_
