// llama-server's own API around generation: /props, /tokenize, /detokenize, /apply-template,
// /slots, and token counts of prompts.

#ifndef CAIRN_API_LLAMA_SERVER_NATIVE_H_
#define CAIRN_API_LLAMA_SERVER_NATIVE_H_

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "api/api_error.h"
#include "api/openai/stored_responses.h"
#include "api/service/chat_service.h"
#include "sched/slot_files.h"

namespace cairn {

// Description of the served model.
struct ServedModel {
  std::string alias;  // the model name shown to clients
  std::string version;
  std::string id_tag;  // the ids of answers begin with it; empty unless there are several servers
  int64_t started_unix_s = 0;
  std::string placement;
  std::string reuse;
  // All names that it was given, and what its owner says of it, for the list of models alone: a
  // request may give any name.
  std::vector<std::string> aliases = {};
  std::vector<std::string> tags = {};
};

// Names the build in llama-server's form, "b" first: `build_info` of /props and OpenAI's
// system_fingerprint.
std::string BuildInfo(std::string_view version);

// Each takes and returns JSON text. Any thread.
std::string PropsBody(const ChatService& service, const GenerationParams& defaults,
                      const ServedModel& served);
// Returns the state of every slot, without texts, which may be another client's.
std::string SlotsBody(const ChatService& service);
ApiResult<std::string> TokenizeBody(const ChatService& service, std::string_view body);
ApiResult<std::string> DetokenizeBody(const ChatService& service, std::string_view body);
ApiResult<std::string> ApplyTemplateBody(const ChatService& service, std::string_view body);
// Return the number of tokens of a request's prompt, for chat/completions and responses. `stored`
// resolves `previous_response_id`; null if the server stores no responses. `gone`: whether the
// client has left; its media are not decoded then.
ApiResult<std::string> ChatInputTokensBody(const ChatService& service, std::string_view body,
                                           NamespaceId name_space,
                                           const std::function<bool()>& gone = {});
ApiResult<std::string> ResponsesInputTokensBody(const ChatService& service, std::string_view body,
                                                NamespaceId name_space, StoredResponses* stored,
                                                const std::function<bool()>& gone = {});

// A request `POST /slots/<slot>?action=<action>`.
struct SlotRequest {
  std::string_view slot;
  std::string_view action;
  std::string_view body;
  NamespaceId name_space = 0;
};
// `erase` empties a free slot that holds no other key's conversation; its objects in the cache
// stay. `save` and `restore` write a slot to a file and load it; 501 if `files` is null. 503 while
// the slot is in use.
ApiResult<std::string> SlotActionBody(const ChatService& service, SlotFiles* files,
                                      const SlotRequest& request);

}  // namespace cairn

#endif  // CAIRN_API_LLAMA_SERVER_NATIVE_H_
