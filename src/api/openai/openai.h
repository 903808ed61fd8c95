// The answers of POST /v1/chat/completions in OpenAI's words, with llama-server's `timings`.

#ifndef CAIRN_API_OPENAI_OPENAI_H_
#define CAIRN_API_OPENAI_OPENAI_H_

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "api/answer/answer_identity.h"
#include "api/answer/answer_reader.h"
#include "api/answer_options.h"
#include "api/api_error.h"
#include "api/chat_service.h"
#include "api/json.h"

namespace cairn {

// Waits for the whole answer, or all that were asked for. `gone` is asked while it waits: true ends
// the work.
ApiResult<std::string> CollectChat(StartedChat chat, const AnswerIdentity& identity,
                                   const std::function<bool()>& gone);

// An answer as Server-Sent Events. Used by one thread.
//
//   data: {…"delta":{"role":"assistant","content":null}…}
//   data: {…"delta":{"reasoning_content":"…"}…}      when the model reasons
//   data: {…"delta":{"content":"…"}…}
//   data: {…"delta":{"tool_calls":[{"index":0,"id":"…","type":"function","function":{…}}]}…}
//   data: {…"delta":{},"finish_reason":"stop"…}      with `timings`, unless usage follows
//   data: {…"choices":[],"usage":{…},"timings":{…}}  when asked for
//   data: [DONE]
//
// The last event with `timings` has `cairn` too, where an explanation was asked for. Before all
// this, where asked for: {…"delta":{}…,"prompt_progress":{…}}, several. Several answers come mixed,
// each chunk with the `index` of its own. Where log-probabilities are asked for, a chunk has those
// of the tokens that came since the answer's last chunk: the ones its text is of, and those of tags
// that are no text.
class ChatStream {
 public:
  ChatStream(StartedChat chat, AnswerIdentity identity, const AnswerOptions& options);

  // Waits a moment for more and appends it to `chunk`. False: that was all.
  bool Next(std::string* chunk);
  // The client is gone.
  void Abandon() { reader_.Abandon(); }

 private:
  // What is known of one answer of those asked for.
  struct Choice {
    bool begun = false;
    std::vector<TokenLogprob> logprobs;  // not sent yet
  };

  void AppendChunk(size_t index, Json delta, const GenerationCost& cost, std::string* chunk);
  void AppendStep(const AnswerStep& step, std::string* chunk);
  void AppendEnd(const AnswerStep& step, std::string* chunk);
  void AppendUsage(std::string* chunk) const;
  // `timings`, and `cairn`.
  void AddTimings(Json* event) const;
  // Of a choice's next chunk; there is none when nothing is to be told.
  void AddLogprobs(Choice* choice, Json* chunk_choice) const;

  const std::shared_ptr<const RequestRecord> record_;
  AnswerReader reader_;
  const AnswerIdentity identity_;
  const AnswerOptions options_;
  std::vector<Choice> choices_;
  GenerationCost cost_;  // of the answers that have ended
};

}  // namespace cairn

#endif  // CAIRN_API_OPENAI_OPENAI_H_
