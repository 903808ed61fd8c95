// AnswerReader: an answer on its way, taken apart. Every API puts its own words around what this
// gives: OpenAI's chat, Responses, Anthropic's messages.
//
// Used by one thread at a time.

#ifndef CAIRN_API_ANSWER_READER_H_
#define CAIRN_API_ANSWER_READER_H_

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "api/api_error.h"
#include "api/chat_service.h"
#include "chat/answer_parser.h"
#include "sched/generation.h"

namespace cairn {

// How long a wait for more of an answer lasts: long enough to cost nothing, short enough that a
// client that went away is noticed soon.
inline constexpr std::chrono::milliseconds kAnswerWait{100};

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

// What came since the last step. After an error or an end nothing comes.
struct AnswerStep {
  std::optional<AnswerProgress> progress;  // then there is nothing else
  std::vector<AnswerPiece> pieces;
  std::optional<AnswerEnd> end;
  std::optional<ApiError> error;
};

class AnswerReader {
 public:
  explicit AnswerReader(StartedChat chat);

  // Waits a moment for more; nothing: it did not come yet.
  std::optional<AnswerStep> Next();
  // The client is gone.
  void Cancel() { generation_->Cancel(); }

 private:
  const std::shared_ptr<Generation> generation_;
  const std::unique_ptr<AnswerParser> parser_;
  bool called_tools_ = false;
};

struct WholeAnswer {
  struct Call {
    std::string name;
    std::string arguments;  // JSON text
  };
  std::string reasoning;
  std::string content;
  std::vector<Call> calls;
  AnswerEnd end;
};

// Waits for the whole answer. `gone` is asked while it waits: true ends the work.
ApiResult<WholeAnswer> CollectAnswer(StartedChat chat, const std::function<bool()>& gone);

}  // namespace cairn

#endif  // CAIRN_API_ANSWER_READER_H_
