// The model catalogue: GET /v1/models.
//
//   data     OpenAI's list, with llama-server's `meta`, `architecture` and `status`
//   models   the same model in the form of Codex and of Ollama's clients: Codex refuses a list that
//            lacks a field, and assumes 272,000 tokens of context without `context_window`

#ifndef CAIRN_API_LLAMA_SERVER_MODEL_CATALOG_H_
#define CAIRN_API_LLAMA_SERVER_MODEL_CATALOG_H_

#include <string>
#include <string_view>

#include "api/api_error.h"
#include "api/llama_server/native.h"
#include "api/service/chat_service.h"

namespace cairn {

// Return JSON text. Any thread.
std::string ModelsBody(const ChatService& service, const ServedModel& served);
// The model's entry in `data`, for GET /v1/models/NAME. 404 if it has another name.
ApiResult<std::string> ModelBody(const ChatService& service, const ServedModel& served,
                                 std::string_view name);

}  // namespace cairn

#endif  // CAIRN_API_LLAMA_SERVER_MODEL_CATALOG_H_
