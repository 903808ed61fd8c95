// Answers of Ollama's POST /api/chat and POST /api/generate: one object, or a line of JSON for each
// piece.
//
//   {"model":"m","created_at":"…","message":{"role":"assistant","content":"A"},"done":false}
//   {…,"message":{"role":"assistant","content":"","thinking":"…"},"done":false}
//   {…,"message":{…,"tool_calls":[{"id":"…","function":{"index":0,"name":"…","arguments":{…}}}]}…}
//   {…,"message":{…},"done":true,"done_reason":"stop","total_duration":…,"eval_count":…,…}
//
// /api/generate has `response` and `thinking` in place of `message`, and at the end `context`. The
// last object also has llama-server's `timings`, and `cairn` if it was asked for. Durations are
// nanoseconds; load_duration is the time in the queue. prompt_eval_count counts reused tokens too.

#ifndef CAIRN_API_OLLAMA_OLLAMA_ANSWER_H_
#define CAIRN_API_OLLAMA_OLLAMA_ANSWER_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "api/answer/answer_identity.h"
#include "api/answer/answer_reader.h"
#include "api/api_error.h"
#include "api/json.h"
#include "api/llama_server/infill.h"
#include "api/ollama/ollama_request.h"
#include "api/service/chat_service.h"

namespace cairn {

// Starts the answer to a request that is not empty. `key`: the namespace of the client's key.
// 400 if reasoning is asked of a model that has no place for it, or a suffix where the vocabulary
// lacks the tokens. Any thread.
ApiResult<StartedChat> StartOllama(const ChatService& service, OllamaRequest request,
                                   const InfillOptions& infill, NamespaceId key);

// How the answer to a request is written.
struct OllamaForm {
  bool is_chat = true;
  std::string model;     // as the client wrote it
  std::string id = {};   // of the answer; the ids of its calls begin with it
  bool context = false;  // the end has `context`: `prompt` and the answer's tokens
  Tokens prompt = {};
};
// Call before the answer is started.
OllamaForm FormOf(const OllamaRequest& request, bool is_chat);
// Call before the explanation is taken from `chat`.
void NotePrompt(const StartedChat& chat, OllamaForm* form);

// The answer to a request that asks nothing.
std::string OllamaEmptyBody(const OllamaRequest& request, bool is_chat);

// Waits for the complete answer. Polls `gone` meanwhile; true cancels the request.
ApiResult<std::string> CollectOllama(StartedChat chat, const OllamaForm& form,
                                     const std::function<bool()>& gone);

// OllamaStream: an answer as lines. Used by one thread.
class OllamaStream {
 public:
  static constexpr const char* kContentType = "application/x-ndjson";

  OllamaStream(StartedChat chat, OllamaForm form);

  // Waits up to kAnswerWait for more and appends it to `chunk`. Returns false after the last line.
  bool Next(std::string* chunk);
  // Call when the client has disconnected.
  void Abandon() { reader_.Abandon(); }
  // A piece without text: the format has no comments.
  std::string_view ping() const { return ping_; }

 private:
  void AppendPiece(const AnswerDelta& piece, std::string* chunk);
  void EndCall(std::string* chunk);
  void AppendEnd(const AnswerStep& step, std::string* chunk);
  void AppendLine(Json line, std::string* chunk);

  const std::shared_ptr<const RequestRecord> record_;
  AnswerReader reader_;
  const OllamaForm form_;
  const std::string ping_;
  WholeAnswer::Call call_;              // the one that arrives; without a name there is none
  size_t calls_ = 0;                    // complete ones
  std::vector<TokenLogprob> logprobs_;  // not sent yet
  Tokens tokens_;                       // of the answer, for `context`
};

}  // namespace cairn

#endif  // CAIRN_API_OLLAMA_OLLAMA_ANSWER_H_
