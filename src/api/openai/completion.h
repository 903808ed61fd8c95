// Plain completions, in two dialects: OpenAI's POST /v1/completions and llama-server's
// POST /completion. A prompt is a text or a list of tokens; no template, no messages.

#ifndef CAIRN_API_OPENAI_COMPLETION_H_
#define CAIRN_API_OPENAI_COMPLETION_H_

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
#include "api/openai/logprobs_json.h"
#include "api/openai/openai.h"

namespace cairn {

enum class CompletionDialect : uint8_t { kOpenAi, kNative };

struct CompletionRequest {
  Tokens prompt;
  PromptShape shape;  // of the prompt
  std::string prompt_text;
  GenerationParams params;
  bool stream = false;
  AnswerOptions options;
  bool reuse = true;
  bool echo = false;  // OpenAI's: the prompt stands before the answer
  // llama-server's: of a whole answer, these parts alone, as "content" or "timings/prompt_n";
  // empty: all of it.
  std::vector<std::string> response_fields;
  // llama-server's: milliseconds from the first token on after which an answer of several lines
  // ends; 0 or less: never.
  float line_ms_max = 0;
};

// `prompt` may mix texts and tokens in one list, as llama-server takes it. Of several prompts in
// one request a 400 says that one is taken.
ApiResult<CompletionRequest> ParseCompletion(const Engine& engine, const Json& body,
                                             const GenerationParams& defaults,
                                             CompletionDialect dialect);

// The same, of all but the prompt, which the request has already.
ApiResult<CompletionRequest> ParseCompletionFields(const Json& body,
                                                   const GenerationParams& defaults,
                                                   CompletionDialect dialect,
                                                   CompletionRequest request);

struct StartedCompletion {
  std::shared_ptr<Generation> generation;
  CompletionDialect dialect = CompletionDialect::kOpenAi;
  AnswerIdentity identity;
  std::string prompt_text;
  GenerationParams params;
  AnswerOptions options;
  bool echo = false;
  std::vector<std::string> response_fields = {};
  float line_ms_max = 0;
  ExplainedPrompt explained = {};
  // See StartedChat.
  std::shared_ptr<const RequestRecord> record = {};
};

ApiResult<StartedCompletion> StartCompletion(const ChatService& service, CompletionRequest request,
                                             CompletionDialect dialect, AnswerIdentity identity,
                                             NamespaceId name_space);

// Ends an answer that has come to a second line and takes longer than it may. Used by one thread.
class LineDeadline {
 public:
  // As CompletionRequest's.
  explicit LineDeadline(float ms_max) : ms_max_(ms_max) {}
  // Is shown every event in its order. The end of an answer that this has ended is one of length.
  void See(Generation* generation, GenerationEvent* event);

 private:
  const float ms_max_;
  bool has_line_ = false;
  bool ended_ = false;
};

// Waits for the whole answer, or all that were asked for. `gone` is asked while it waits: true ends
// the work. Of several answers, OpenAI's dialect makes choices, llama-server's a list.
ApiResult<std::string> CollectCompletion(const StartedCompletion& started,
                                         const std::function<bool()>& gone);

// The answer as Server-Sent Events. Several answers come mixed, each event with the `index` of its
// own. Used by one thread.
class CompletionStream {
 public:
  explicit CompletionStream(StartedCompletion started)
      : started_(std::move(started)),
        deadline_(started_.line_ms_max),
        choices_(started_.options.answers) {}

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
  LineDeadline deadline_;
  std::vector<Choice> choices_;
  size_t ended_ = 0;
  GenerationCost cost_;  // of the answers that have ended
};

}  // namespace cairn

#endif  // CAIRN_API_OPENAI_COMPLETION_H_
