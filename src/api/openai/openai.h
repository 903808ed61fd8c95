// Answers of POST /v1/chat/completions in OpenAI's format, with llama-server's `timings`.

#ifndef CAIRN_API_OPENAI_OPENAI_H_
#define CAIRN_API_OPENAI_OPENAI_H_

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "api/answer/answer_identity.h"
#include "api/answer/answer_reader.h"
#include "api/api_error.h"
#include "api/json.h"
#include "api/request/answer_options.h"
#include "api/service/chat_service.h"

namespace cairn {

// Waits for all requested answers. Polls `gone` meanwhile; true cancels the request. For
// `legacy_calls` see AnswerOptions.
ApiResult<std::string> CollectChat(StartedChat chat, const AnswerIdentity& identity,
                                   const std::function<bool()>& gone, bool legacy_calls = false);

// ChatStream: an answer as server-sent events. Used by one thread.
//
//   data: {…"delta":{"role":"assistant","content":null}…}
//   data: {…"delta":{"reasoning_content":"…"}…}      when the model reasons
//   data: {…"delta":{"content":"…"}…}
//   data: {…"delta":{"tool_calls":[{"index":0,"id":"…","type":"function","function":{…}}]}…}
//   data: {…"delta":{},"finish_reason":"stop"…}      with `timings`, unless usage follows
//         of an answer that was cancelled: "length", as it is cut off, and "cancelled": true
//   data: {…"choices":[],"usage":{…},"timings":{…}}  when asked for
//   data: [DONE]
//
// The last event with `timings` also has `cairn` if an explanation was requested. With
// return_progress, events {…"delta":{}…,"prompt_progress":{…}} come first. Chunks of several
// answers are interleaved, each with its answer's `index`. If log-probabilities were requested, a
// chunk has those of all tokens since the answer's last chunk: the tokens of its text, and those of
// tags that are not part of the text.
class ChatStream {
 public:
  ChatStream(StartedChat chat, AnswerIdentity identity, const AnswerOptions& options);

  // Waits up to kAnswerWait for more and appends it to `chunk`. Returns false after the last event.
  bool Next(std::string* chunk);
  // Call when the client has disconnected.
  void Abandon() { reader_.Abandon(); }

 private:
  // State of one of the requested answers.
  struct Choice {
    bool begun = false;
    std::vector<TokenLogprob> logprobs;  // not sent yet
  };

  void AppendChunk(size_t index, Json delta, const GenerationCost& cost, std::string* chunk);
  void AppendStep(const AnswerStep& step, std::string* chunk);
  void AppendEnd(const AnswerStep& step, std::string* chunk);
  void AppendUsage(std::string* chunk) const;
  // Adds `timings`, `cairn` and `__verbose`.
  void AddTimings(Json* event) const;
  // Returns the log-probabilities of a choice's next chunk, or nothing if there are none.
  void AddLogprobs(Choice* choice, Json* chunk_choice) const;

  const std::shared_ptr<const RequestRecord> record_;
  const std::shared_ptr<const Json> verbose_;
  AnswerReader reader_;
  const AnswerIdentity identity_;
  const AnswerOptions options_;
  std::vector<Choice> choices_;
  GenerationCost cost_;  // of the finished answers
};

}  // namespace cairn

#endif  // CAIRN_API_OPENAI_OPENAI_H_
