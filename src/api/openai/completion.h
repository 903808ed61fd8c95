// The answers to plain completions (api/openai/completion_request.h). Those to several prompts are
// choices, or items of a list: first all answers to the first prompt, then those to the second.

#ifndef CAIRN_API_OPENAI_COMPLETION_H_
#define CAIRN_API_OPENAI_COMPLETION_H_

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "api/answer/answer_identity.h"
#include "api/answer/logprobs_json.h"
#include "api/answer/prompt_batch.h"
#include "api/api_error.h"
#include "api/json.h"
#include "api/openai/completion_request.h"
#include "api/request/answer_options.h"
#include "api/service/chat_service.h"

namespace cairn {

// A prompt as its answers show it.
struct ShownPrompt {
  std::string text;
  // The first token, of which there is no log-probability; for `echo`.
  LikelyToken first = {};
  bool first_in_text = true;  // false: it is the BOS that the server put before the client's text
};

struct StartedCompletion {
  std::shared_ptr<Generation> generation;
  // Set if there are several prompts: call See with every event.
  std::shared_ptr<PromptBatch> batch = {};
  CompletionDialect dialect = CompletionDialect::kOpenAi;
  AnswerIdentity identity;
  std::vector<ShownPrompt> prompts = std::vector<ShownPrompt>(1);
  GenerationParams params;
  AnswerOptions options;
  bool echo = false;
  bool return_tokens = false;
  bool is_verbose = false;  // the answer has `__verbose`
  std::vector<std::string> response_fields = {};
  float line_ms_max = 0;
  ExplainedPrompt explained = {};  // the first prompt
  // See StartedChat.
  std::shared_ptr<const RequestRecord> record = {};

  size_t answers() const { return prompts.size() * options.answers; }
  // Returns the prompt that the answer with this number is to.
  const ShownPrompt& PromptOf(size_t answer) const { return prompts.at(answer / options.answers); }
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

// CompletionCosts: adds up the cost of the answers. Each prompt counts once.
class CompletionCosts {
 public:
  // `answers`: to each of the prompts.
  CompletionCosts(size_t prompts, size_t answers) : answers_(answers), costs_(prompts) {}
  void Add(size_t answer, const GenerationCost& cost);
  GenerationCost Total() const;

 private:
  const size_t answers_;
  std::vector<GenerationCost> costs_;  // by prompt
};

// Returns for each figure whether it is one of the `kept` highest; of equals, the earlier ones.
std::vector<bool> KeepHighest(const std::vector<double>& figures, size_t kept);

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
        choices_(started_.answers()),
        prompt_logprobs_(started_.prompts.size()),
        costs_(started_.prompts.size(), started_.options.answers) {}

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

  // The prompt before an answer, if it is to be echoed.
  void AppendPrompt(size_t answer, std::string* chunk);
  void AppendText(const GenerationEvent& event, std::string* chunk);
  void AppendEnd(const GenerationEvent& event, std::string* chunk);

  const StartedCompletion started_;
  LineDeadline deadline_;
  std::vector<Choice> choices_;
  std::vector<std::vector<TokenLogprob>> prompt_logprobs_;  // by prompt
  size_t ended_ = 0;
  CompletionCosts costs_;  // of the finished answers
};

}  // namespace cairn

#endif  // CAIRN_API_OPENAI_COMPLETION_H_
