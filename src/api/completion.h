// Plain completions, in two dialects: OpenAI's POST /v1/completions and llama-server's
// POST /completion. A prompt is a text or a list of tokens; no template, no messages.

#ifndef CAIRN_API_COMPLETION_H_
#define CAIRN_API_COMPLETION_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "api/api_error.h"
#include "api/chat_service.h"
#include "api/json.h"
#include "api/openai.h"

namespace cairn {

enum class CompletionDialect : uint8_t { kOpenAi, kNative };

struct CompletionRequest {
  Tokens prompt;
  std::string prompt_text;
  GenerationParams params;
  bool stream = false;
  bool include_usage = false;
  bool reuse = true;
  bool echo = false;  // OpenAI's: the prompt stands before the answer
};

// `prompt` may mix texts and tokens in one list, as llama-server takes it. Of several prompts in
// one request a 400 says that one is taken.
ApiResult<CompletionRequest> ParseCompletion(const Engine& engine, const Json& body,
                                             const GenerationParams& defaults,
                                             CompletionDialect dialect);

struct StartedCompletion {
  std::shared_ptr<Generation> generation;
  CompletionDialect dialect = CompletionDialect::kOpenAi;
  AnswerIdentity identity;
  std::string prompt_text;
  bool include_usage = false;
  bool echo = false;
};

ApiResult<StartedCompletion> StartCompletion(const ChatService& service, CompletionRequest request,
                                             CompletionDialect dialect, AnswerIdentity identity,
                                             NamespaceId name_space);

// Waits for the whole answer. `gone` is asked while it waits: true ends the work.
ApiResult<std::string> CollectCompletion(const StartedCompletion& started,
                                         const std::function<bool()>& gone);

// The answer as Server-Sent Events. Used by one thread.
class CompletionStream {
 public:
  explicit CompletionStream(StartedCompletion started) : started_(std::move(started)) {}

  // Waits a moment for more and appends it to `chunk`. False: that was all.
  bool Next(std::string* chunk);
  // The client is gone.
  void Cancel() { started_.generation->Cancel(); }

 private:
  const StartedCompletion started_;
  bool begun_ = false;
};

}  // namespace cairn

#endif  // CAIRN_API_COMPLETION_H_
