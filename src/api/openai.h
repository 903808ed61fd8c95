// The answers of POST /v1/chat/completions in OpenAI's words, with llama-server's `timings`.

#ifndef CAIRN_API_OPENAI_H_
#define CAIRN_API_OPENAI_H_

#include <cstdint>
#include <functional>
#include <string>

#include "api/api_error.h"
#include "api/chat_service.h"
#include "chat/reasoning.h"

namespace cairn {

// What every answer and every chunk of one says of itself.
struct AnswerIdentity {
  std::string id;
  std::string model;
  int64_t created_unix_s = 0;
};

// Waits for the whole answer. `gone` is asked while it waits: true ends the work.
ApiResult<std::string> CollectChat(const StartedChat& chat, const AnswerIdentity& identity,
                                   const std::function<bool()>& gone);

// An answer as Server-Sent Events. Used by one thread.
//
//   data: {…"delta":{"role":"assistant","content":null}…}
//   data: {…"delta":{"reasoning_content":"…"}…}      when the model reasons
//   data: {…"delta":{"content":"…"}…}
//   data: {…"delta":{},"finish_reason":"stop"…}      with `timings`, unless usage follows
//   data: {…"choices":[],"usage":{…},"timings":{…}}  when asked for
//   data: [DONE]
class ChatStream {
 public:
  ChatStream(StartedChat chat, AnswerIdentity identity, bool include_usage);

  // Waits a moment for more and appends it to `chunk`. False: that was all.
  bool Next(std::string* chunk);
  // The client is gone.
  void Cancel() { chat_.generation->Cancel(); }

 private:
  void AppendPieces(const std::vector<ReasoningSplitter::Piece>& pieces, std::string* chunk) const;
  void AppendEnd(const GenerationEvent& event, std::string* chunk) const;

  const StartedChat chat_;
  const AnswerIdentity identity_;
  const bool include_usage_;
  ReasoningSplitter splitter_;
  bool begun_ = false;
};

}  // namespace cairn

#endif  // CAIRN_API_OPENAI_H_
