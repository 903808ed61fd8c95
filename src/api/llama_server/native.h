// The parts of llama-server's own API that say what is served: /props, /tokenize, /detokenize,
// /apply-template, /slots, and how many tokens a prompt has.

#ifndef CAIRN_API_LLAMA_SERVER_NATIVE_H_
#define CAIRN_API_LLAMA_SERVER_NATIVE_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "api/api_error.h"
#include "api/chat_service.h"
#include "api/openai/stored_responses.h"
#include "sched/slots/slot_files.h"

namespace cairn {

// What the server says of itself.
struct ServedModel {
  std::string alias;  // the name clients see
  std::string version;
  int64_t started_unix_s = 0;
  std::string placement;
  std::string reuse;
};

// Each takes and gives JSON texts. Any thread.
std::string PropsBody(const ChatService& service, const GenerationParams& defaults,
                      const ServedModel& served);
// What each slot does. Without texts: they may be another client's.
std::string SlotsBody(const ChatService& service);
ApiResult<std::string> TokenizeBody(const ChatService& service, std::string_view body);
ApiResult<std::string> DetokenizeBody(const ChatService& service, std::string_view body);
ApiResult<std::string> ApplyTemplateBody(const ChatService& service, std::string_view body);
// How many tokens the prompt of a request would have: of chat/completions, of responses. `stored`:
// what `previous_response_id` is looked for in; null: nothing is stored.
ApiResult<std::string> ChatInputTokensBody(const ChatService& service, std::string_view body,
                                           NamespaceId name_space);
ApiResult<std::string> ResponsesInputTokensBody(const ChatService& service, std::string_view body,
                                                NamespaceId name_space, StoredResponses* stored);

// What is asked of a slot by `POST /slots/<slot>?action=<action>`.
struct SlotRequest {
  std::string_view slot;
  std::string_view action;
  std::string_view body;
  NamespaceId name_space = 0;
};
// `erase` empties a free slot that holds nothing of another key; what was stored of it stays.
// `save` and `restore` take a slot to a file and back; without `files` they are 501. 503 while the
// slot is in use.
ApiResult<std::string> SlotActionBody(const ChatService& service, SlotFiles* files,
                                      const SlotRequest& request);

}  // namespace cairn

#endif  // CAIRN_API_LLAMA_SERVER_NATIVE_H_
