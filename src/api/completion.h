// Plain completions, in two dialects: OpenAI's POST /v1/completions and llama-server's
// POST /completion. A prompt is a text or a list of tokens; no template, no messages.

#ifndef CAIRN_API_COMPLETION_H_
#define CAIRN_API_COMPLETION_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "api/answer_options.h"
#include "api/api_error.h"
#include "api/chat_service.h"
#include "api/json.h"
#include "api/logprobs_json.h"
#include "api/openai.h"

namespace cairn {

enum class CompletionDialect : uint8_t { kOpenAi, kNative };

struct CompletionRequest {
  Tokens prompt;
  std::string prompt_text;
  GenerationParams params;
  bool stream = false;
  AnswerOptions options;
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
  GenerationParams params;
  AnswerOptions options;
  bool echo = false;
  ExplainedPrompt explained = {};
  // See StartedChat.
  std::shared_ptr<const RequestRecord> record = {};
};

ApiResult<StartedCompletion> StartCompletion(const ChatService& service, CompletionRequest request,
                                             CompletionDialect dialect, AnswerIdentity identity,
                                             NamespaceId name_space);

// Waits for the whole answer, or all that were asked for. `gone` is asked while it waits: true ends
// the work. Of several answers, OpenAI's dialect makes choices, llama-server's a list.
ApiResult<std::string> CollectCompletion(const StartedCompletion& started,
                                         const std::function<bool()>& gone);

// The answer as Server-Sent Events. Several answers come mixed, each event with the `index` of its
// own. Used by one thread.
class CompletionStream {
 public:
  explicit CompletionStream(StartedCompletion started)
      : started_(std::move(started)), choices_(started_.options.answers) {}

  // Waits a moment for more and appends it to `chunk`. False: that was all.
  bool Next(std::string* chunk);
  // The client is gone.
  void Abandon() { started_.generation->Abandon(); }

 private:
  // What is known of one answer of those asked for.
  struct Choice {
    bool begun = false;
    LegacyLogprobs logprobs;
  };

  void AppendText(const GenerationEvent& event, std::string* chunk);
  void AppendEnd(const GenerationEvent& event, std::string* chunk);

  const StartedCompletion started_;
  std::vector<Choice> choices_;
  size_t ended_ = 0;
  GenerationCost cost_;  // of the answers that have ended
};

}  // namespace cairn

#endif  // CAIRN_API_COMPLETION_H_
