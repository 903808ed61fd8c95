// The model catalogue: GET /v1/models.
//
//   data     OpenAI's list, with llama-server's `meta`, `architecture` and `status`
//   models   the same model in the form of Codex and of Ollama's clients: Codex refuses a list that
//            lacks a field, and assumes 272,000 tokens of context without `context_window`

#ifndef CAIRN_API_ADMIN_MODEL_CATALOG_H_
#define CAIRN_API_ADMIN_MODEL_CATALOG_H_

#include <string>

#include "api/chat_service.h"
#include "api/llama_server/native.h"

namespace cairn {

// Returns JSON text. Any thread.
std::string ModelsBody(const ChatService& service, const ServedModel& served);

}  // namespace cairn

#endif  // CAIRN_API_ADMIN_MODEL_CATALOG_H_
