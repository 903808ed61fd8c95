// The answers of POST /v1/responses, in OpenAI's words. Codex speaks nothing else.
//
// How many of the generated tokens were reasoning is not counted: `reasoning_tokens` is 0.

#ifndef CAIRN_API_OPENAI_RESPONSES_H_
#define CAIRN_API_OPENAI_RESPONSES_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "api/answer/answer_identity.h"
#include "api/answer/answer_reader.h"
#include "api/api_error.h"
#include "api/json.h"

namespace cairn {

// Of the tools that came inside a namespace, by name.
using ToolNamespaces = std::map<std::string, std::string>;

// What a response has of its request, and who keeps it. May be all empty.
struct ResponseContext {
  Json repeated = Json::object();  // fields of the request that every response repeats
  // Told the response when it has ended, before the client is.
  std::function<void(const Json& response)> on_end = {};
};

// An answer as Server-Sent Events, numbered by `sequence_number`. Used by one thread.
//
//   response.created, response.in_progress      at once, before the prompt is read
//   response.output_item.added                  then, for each item:
//     reasoning      content_part.added, reasoning_text.delta …, .done, content_part.done
//     message        content_part.added, output_text.delta …, .done, content_part.done
//     function_call  function_call_arguments.delta …, .done
//   response.output_item.done
//   response.completed | .incomplete (max_output_tokens) | .failed, with the whole response; of an
//                                               answer, with `cairn` where it was asked for
class ResponseStream {
 public:
  ResponseStream(StartedChat chat, const AnswerIdentity& identity, ToolNamespaces namespaces,
                 ResponseContext context = {});

  // Waits a moment for more and appends it to `chunk`. False: that was all.
  bool Next(std::string* chunk);
  // The client is gone.
  void Abandon() { reader_.Abandon(); }

  // The response as its last event told it, or how it failed. REQUIRES: Next() returned false.
  ApiResult<std::string> Whole() const;

 private:
  void Emit(const std::string& type, const Json& fields, std::string* chunk);
  void EmitResponse(const std::string& type, std::string* chunk);
  void EmitInItem(const std::string& event, const Json& fields, std::string* chunk);
  void AppendPiece(const AnswerDelta& piece, std::string* chunk);
  void OpenItem(const std::string& type, const AnswerDelta& piece, std::string* chunk);
  void CloseItem(const std::string& status, std::string* chunk);
  void End(const AnswerEnd& end, std::string* chunk);

  const std::shared_ptr<const RequestRecord> record_;
  AnswerReader reader_;
  const ToolNamespaces namespaces_;
  const std::string number_;  // of the answer; part of its items' ids
  const std::function<void(const Json& response)> on_end_;
  Json response_;
  bool begun_ = false;
  int64_t sequence_ = 0;
  Json item_;         // the open one; null when none is
  std::string text_;  // of the open item, so far
  std::optional<ApiError> error_;
};

// Waits for the whole answer. `gone` is asked while it waits: true ends the work.
ApiResult<std::string> CollectResponse(StartedChat chat, const AnswerIdentity& identity,
                                       ToolNamespaces namespaces, const std::function<bool()>& gone,
                                       ResponseContext context = {});

}  // namespace cairn

#endif  // CAIRN_API_OPENAI_RESPONSES_H_
