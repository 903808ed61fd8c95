// Answers of POST /v1/responses in OpenAI's format. Codex uses only this API.
//
// How many of the generated tokens were reasoning is not counted: `reasoning_tokens` is 0.

#ifndef CAIRN_API_OPENAI_RESPONSES_H_
#define CAIRN_API_OPENAI_RESPONSES_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "api/answer/answer_identity.h"
#include "api/answer/answer_reader.h"
#include "api/api_error.h"
#include "api/json.h"
#include "api/openai/response_tools.h"
#include "api/request/answer_options.h"

namespace cairn {

// The request's part of a response, and where it is stored. All fields may be empty.
struct ResponseContext {
  Json repeated = Json::object();  // fields of the request that every response repeats
  AnswerOptions options = {};
  // Gets the response at its end, before the client does.
  std::function<void(const Json& response)> on_end = {};
};

// ResponseStream: an answer as server-sent events, numbered by `sequence_number`. Used by one
// thread.
//
//   response.created, response.in_progress      at once, before the prompt is read
//   response.in_progress with `prompt_progress`  where return_progress asks for it
//   response.output_item.added                  then, for each item:
//     reasoning      content_part.added, reasoning_text.delta …, .done, content_part.done
//     message        content_part.added, output_text.delta …, .done, content_part.done
//     function_call  function_call_arguments.delta …, .done
//     custom_tool_call  custom_tool_call_input.delta, .done, when its text is complete
//     tool_search_call  nothing in between
//   response.output_item.done
//   response.completed | .incomplete (max_output_tokens) | .failed, with the whole response; of an
//                                               answer, with `cairn` where it was asked for
//
// As llama-server's, the events of the prompt's progress, of pieces of text and the last one have
// `timings` where timings_per_token asks for them.
//
// The API has no last event of a cancelled answer: it is `.incomplete` too, and the response in it
// has the status "cancelled".
class ResponseStream {
 public:
  ResponseStream(StartedChat chat, const AnswerIdentity& identity, ResponseTools tools,
                 ResponseContext context = {});

  // Waits up to kAnswerWait for more and appends it to `chunk`. Returns false after the last event.
  bool Next(std::string* chunk);
  // Call when the client has disconnected.
  void Abandon() { reader_.Abandon(); }

  // Returns the response of the last event, or its failure. REQUIRES: Next() returned false.
  ApiResult<std::string> Whole() const;

 private:
  void Emit(const std::string& type, const Json& fields, std::string* chunk);
  void EmitResponse(const std::string& type, std::string* chunk);
  void EmitInItem(const std::string& event, const Json& fields, std::string* chunk);
  void EmitProgress(const AnswerProgress& progress, std::string* chunk);
  void AppendPiece(const AnswerDelta& piece, const GenerationCost& cost, std::string* chunk);
  void OpenItem(const std::string& type, const AnswerDelta& piece, std::string* chunk);
  void CloseItem(const std::string& status, std::string* chunk);
  // Fills the open item, a call, from its arguments, and emits the events of their end.
  void CloseCall(std::string* chunk);
  void End(const AnswerEnd& end, std::string* chunk);

  const std::shared_ptr<const RequestRecord> record_;
  AnswerReader reader_;
  const ResponseTools tools_;
  const std::string number_;  // number of the answer, part of its items' ids
  const std::function<void(const Json& response)> on_end_;
  const bool tells_progress_;
  const bool tells_timings_;
  Json response_;
  bool begun_ = false;
  int64_t sequence_ = 0;
  Json item_;         // the open item; null if there is none
  std::string text_;  // of the open item so far
  std::optional<ApiError> error_;
};

// Waits for the complete answer. Polls `gone` meanwhile; true cancels the request.
ApiResult<std::string> CollectResponse(StartedChat chat, const AnswerIdentity& identity,
                                       ResponseTools tools, const std::function<bool()>& gone,
                                       ResponseContext context = {});

}  // namespace cairn

#endif  // CAIRN_API_OPENAI_RESPONSES_H_
