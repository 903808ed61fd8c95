// AnswerReader: reads a running generation and parses its answers into deltas of reasoning, content
// and tool calls. The APIs (OpenAI's chat, Responses, Anthropic's messages) format these.
//
// Threads: one at a time.

#ifndef CAIRN_API_ANSWER_ANSWER_READER_H_
#define CAIRN_API_ANSWER_ANSWER_READER_H_

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "api/api_error.h"
#include "api/service/chat_service.h"
#include "base/log.h"
#include "chat/parse/answer_parser.h"
#include "sched/answer/generation.h"

namespace cairn {

// The longest wait for the next event: long enough to cost nothing, short enough to notice a
// disconnected client soon.
inline constexpr std::chrono::milliseconds kAnswerWait{100};

// Waits up to kAnswerWait for the next event of a generation. Returns nullopt if there was none. An
// error of any answer ends all of them.
ApiResult<std::optional<GenerationEvent>> NextEvent(Generation* generation);

// Waits for the first event, for `wait_ms` at most or until `gone`. Returns a failure; any other
// event stays queued. Call it before sending a stream's status: clients retry after a 503, but
// rarely after an error inside a stream.
std::optional<ApiError> FailureBeforeAnswer(Generation* generation, double wait_ms,
                                            const std::function<bool()>& gone);

struct AnswerEnd {
  FinishReason reason = FinishReason::kStop;
  bool context_full = false;  // with kLength: the context was full, not tokens_max reached
  std::string stop_text;      // the stop text that ended the answer, if one did
  bool called_tools = false;
  GenerationCost cost;

  // Whether the model did not end the answer itself: it may stop in the middle of a word or a call.
  bool cut_off() const { return reason != FinishReason::kStop; }
  bool cancelled() const { return reason == FinishReason::kCancelled; }
};

// Progress of the prefill.
struct AnswerProgress {
  size_t processed_tokens = 0;  // including reused ones
  GenerationCost cost;          // the prompt's figures so far
};

// New data of one answer since its last step. Nothing follows an error or the last end.
struct AnswerStep {
  size_t answer = 0;                       // index among the requested answers
  std::optional<AnswerProgress> progress;  // if set, all else is empty
  std::vector<AnswerDelta> pieces;
  // Log-probabilities of tokens whose text is in these deltas, or in later ones while the parser
  // holds it back.
  std::vector<TokenLogprob> logprobs;
  // The tokens of that text; with the end those that have none, too.
  Tokens tokens = {};
  GenerationCost cost;  // so far
  std::optional<AnswerEnd> end;
  bool all_ended = false;         // this end was the last one
  std::optional<ApiError> error;  // of any answer; it ends all of them
};

class AnswerReader {
 public:
  explicit AnswerReader(StartedChat chat);

  // Waits up to kAnswerWait for more. Returns nullopt if there was nothing.
  std::optional<AnswerStep> Next();
  size_t answers() const { return answers_.size(); }
  // Call when the client has disconnected.
  void Abandon() { generation_->Abandon(); }

 private:
  struct Reading {
    std::unique_ptr<AnswerParser> parser;
    bool called_tools = false;
    // The call whose arguments are arriving; no name if there is none.
    std::string call_name = {};
    std::string call_arguments = {};
  };

  void NoteCalls(const AnswerStep& step, Reading* reading) const;
  void EndCall(Reading* reading) const;
  void LogOddCalls(const AnswerParser& parser) const;

  const std::shared_ptr<Generation> generation_;
  const LogSink log_;
  const CallSink on_call_;
  std::vector<Reading> answers_;
  size_t ended_ = 0;
};

struct WholeAnswer {
  struct Call {
    std::string name;
    std::string arguments;  // JSON text
    std::string id = {};    // as the model wrote it, or empty
  };
  std::string reasoning;
  std::string content;
  std::vector<Call> calls;
  std::vector<TokenLogprob> logprobs;  // if requested
  Tokens tokens = {};                  // with the one that ended it
  AnswerEnd end;
};

// Waits for all answers and returns them in the order of their numbers. Polls `gone` meanwhile;
// true cancels the request.
ApiResult<std::vector<WholeAnswer>> CollectAnswers(StartedChat chat,
                                                   const std::function<bool()>& gone);
// The same for a request with one answer.
ApiResult<WholeAnswer> CollectAnswer(StartedChat chat, const std::function<bool()>& gone);

}  // namespace cairn

#endif  // CAIRN_API_ANSWER_ANSWER_READER_H_
