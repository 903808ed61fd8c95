// AnswerReader: an answer on its way, taken apart. Every API puts its own words around what this
// gives: OpenAI's chat, Responses, Anthropic's messages.
//
// Used by one thread at a time.

#ifndef CAIRN_API_ANSWER_ANSWER_READER_H_
#define CAIRN_API_ANSWER_ANSWER_READER_H_

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "api/api_error.h"
#include "api/chat_service.h"
#include "base/log.h"
#include "chat/parse/answer_parser.h"
#include "sched/answer/generation.h"

namespace cairn {

// How long a wait for more of an answer lasts: long enough to cost nothing, short enough that a
// client that went away is noticed soon.
inline constexpr std::chrono::milliseconds kAnswerWait{100};

// Waits a moment for what comes next of a generation; nothing: it did not come yet. An error is
// that of any of its answers, and then all are given up.
ApiResult<std::optional<GenerationEvent>> NextEvent(Generation* generation);

// Waits for the first event, `wait_ms` at most, or until `gone`; the event stays unless it is a
// failure, which is returned. To be called before a stream's status is sent: clients ask again when
// they get a 503, and hardly any does for an error inside a stream.
std::optional<ApiError> FailureBeforeAnswer(Generation* generation, double wait_ms,
                                            const std::function<bool()>& gone);

struct AnswerEnd {
  FinishReason reason = FinishReason::kStop;
  bool context_full = false;  // with kLength: the context ended it, not tokens_max
  std::string stop_text;      // the stop text that ended the answer, if one did
  bool called_tools = false;
  GenerationCost cost;
};

// How far the prompt is read.
struct AnswerProgress {
  size_t processed_tokens = 0;  // reused ones among them
  GenerationCost cost;          // the prompt's figures so far
};

// What came of one answer since its last step. After an error or the last end nothing comes.
struct AnswerStep {
  size_t answer = 0;                       // of those asked for
  std::optional<AnswerProgress> progress;  // then there is nothing else
  std::vector<AnswerDelta> pieces;
  // Of tokens whose text is in these pieces, or in later ones while the parser keeps it back.
  std::vector<TokenLogprob> logprobs;
  GenerationCost cost;  // so far
  std::optional<AnswerEnd> end;
  bool all_ended = false;         // this end was the last
  std::optional<ApiError> error;  // of any answer; then all are given up
};

class AnswerReader {
 public:
  explicit AnswerReader(StartedChat chat);

  // Waits a moment for more; nothing: it did not come yet.
  std::optional<AnswerStep> Next();
  size_t answers() const { return answers_.size(); }
  // The client is gone.
  void Abandon() { generation_->Abandon(); }

 private:
  struct Reading {
    std::unique_ptr<AnswerParser> parser;
    bool called_tools = false;
  };

  void LogBrokenCalls(const AnswerParser& parser) const;

  const std::shared_ptr<Generation> generation_;
  const LogSink log_;
  std::vector<Reading> answers_;
  size_t ended_ = 0;
};

struct WholeAnswer {
  struct Call {
    std::string name;
    std::string arguments;  // JSON text
    std::string id = {};    // that the model gave it, or empty
  };
  std::string reasoning;
  std::string content;
  std::vector<Call> calls;
  std::vector<TokenLogprob> logprobs;  // when they were asked for
  AnswerEnd end;
};

// Waits for all answers, in the order of their numbers. `gone` is asked meanwhile: true ends the
// work.
ApiResult<std::vector<WholeAnswer>> CollectAnswers(StartedChat chat,
                                                   const std::function<bool()>& gone);
// Of a request that asked for one.
ApiResult<WholeAnswer> CollectAnswer(StartedChat chat, const std::function<bool()>& gone);

}  // namespace cairn

#endif  // CAIRN_API_ANSWER_ANSWER_READER_H_
