// The answers of POST /v1/chat/completions in OpenAI's words, with llama-server's `timings`.

#ifndef CAIRN_API_OPENAI_H_
#define CAIRN_API_OPENAI_H_

#include <functional>
#include <string>

#include "api/answer_identity.h"
#include "api/answer_reader.h"
#include "api/api_error.h"
#include "api/chat_service.h"

namespace cairn {

// Waits for the whole answer. `gone` is asked while it waits: true ends the work.
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
class ChatStream {
 public:
  ChatStream(StartedChat chat, AnswerIdentity identity, bool include_usage);

  // Waits a moment for more and appends it to `chunk`. False: that was all.
  bool Next(std::string* chunk);
  // The client is gone.
  void Cancel() { reader_.Cancel(); }

 private:
  void AppendPiece(const AnswerPiece& piece, std::string* chunk) const;
  void AppendEnd(const AnswerEnd& end, std::string* chunk) const;

  AnswerReader reader_;
  const AnswerIdentity identity_;
  const bool include_usage_;
  bool begun_ = false;
};

}  // namespace cairn

#endif  // CAIRN_API_OPENAI_H_
