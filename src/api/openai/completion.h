// Plain completions in two dialects: OpenAI's POST /v1/completions and llama-server's POST
// /completion. The prompt is a text, with or without media, or a list of tokens, without template
// and messages (api/openai/completion_prompt.h).

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
#include "api/media/placed_medium.h"
#include "api/openai/logprobs_json.h"
#include "api/openai/openai.h"

namespace cairn {

enum class CompletionDialect : uint8_t { kOpenAi, kNative };

struct CompletionRequest {
  Tokens prompt;
  PromptShape shape;                     // of the prompt
  std::vector<PlacedMedium> media = {};  // in the prompt
  std::string prompt_text;
  GenerationParams params;
  bool stream = false;
  AnswerOptions options;
  bool reuse = true;
  bool echo = false;  // OpenAI's: the answer begins with the prompt
  // llama-server's: the parts of a complete answer to return, such as "content" or
  // "timings/prompt_n"; empty for all.
  std::vector<std::string> response_fields;
  // llama-server's: milliseconds after the first token when an answer of several lines ends; 0 or
  // less for no limit.
  float line_ms_max = 0;
};

// `key`: the namespace of the client's key.
ApiResult<CompletionRequest> ParseCompletion(const ChatService& service, const Json& body,
                                             const GenerationParams& defaults,
                                             CompletionDialect dialect, NamespaceId key);

// Parses all fields but the prompt, which `request` already has.
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
                                             NamespaceId key);

// LineDeadline: ends an answer that has reached a second line after its time limit. Used by one
// thread.
class LineDeadline {
 public:
  // The same as CompletionRequest's.
  explicit LineDeadline(float ms_max) : ms_max_(ms_max) {}
  // Pass every event in order. An answer that the deadline ended has the finish reason kLength.
  void See(Generation* generation, GenerationEvent* event);

 private:
  const float ms_max_;
  bool has_line_ = false;
  bool ended_ = false;
};

// Waits for all requested answers. Polls `gone` meanwhile; true cancels the request. Several
// answers are choices in OpenAI's dialect and a list in llama-server's.
ApiResult<std::string> CollectCompletion(const StartedCompletion& started,
                                         const std::function<bool()>& gone);

// CompletionStream: the answer as server-sent events. Events of several answers are interleaved,
// each with its answer's `index`. Used by one thread.
class CompletionStream {
 public:
  explicit CompletionStream(StartedCompletion started)
      : started_(std::move(started)),
        deadline_(started_.line_ms_max),
        choices_(started_.options.answers) {}

  // Waits up to kAnswerWait for more and appends it to `chunk`. Returns false after the last event.
  bool Next(std::string* chunk);
  // Call when the client has disconnected.
  void Abandon() { started_.generation->Abandon(); }

 private:
  // State of one of the requested answers.
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
  GenerationCost cost_;  // of the finished answers
};

}  // namespace cairn

#endif  // CAIRN_API_OPENAI_COMPLETION_H_
