// The model as catalogues list it: GET /v1/models.
//
//   data     OpenAI's list, with llama-server's `meta`, `architecture` and `status`
//   models   the same model as Codex and Ollama's clients look for it: Codex refuses a list in
//   which
//            one of its fields is missing, and takes 272,000 tokens of context for granted without

#ifndef CAIRN_API_ADMIN_MODEL_CATALOG_H_
#define CAIRN_API_ADMIN_MODEL_CATALOG_H_

#include <string>

#include "api/chat_service.h"
#include "api/llama_server/native.h"

namespace cairn {

// As JSON text. Any thread.
std::string ModelsBody(const ChatService& service, const ServedModel& served);

}  // namespace cairn

#endif  // CAIRN_API_ADMIN_MODEL_CATALOG_H_
