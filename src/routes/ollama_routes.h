// The routes of Ollama's API, /api/…, one more dialect beside OpenAI's and Anthropic's.

#ifndef CAIRN_ROUTES_OLLAMA_ROUTES_H_
#define CAIRN_ROUTES_OLLAMA_ROUTES_H_

#include <functional>
#include <string>

#include "api/ollama/ollama_request.h"
#include "routes/routes.h"

namespace cairn {

// REQUIRES: before server->Bind().
void AddOllamaRoutes(HttpServer* server, Served* served);

// Ollama's routes that would change which models there are, for servers of any number of models.
// Each answers a 501 that says what to do.
void AddOllamaRefusals(HttpServer* server);

// Returns the answer to POST /api/pull of a model that is `there`, or not.
HttpResponse OllamaPullResponse(ApiResult<void> there);

// Returns the answer to a chat or a completion without a prompt, which only loads or unloads: in
// lines if the client asked for a stream.
HttpResponse OllamaEmptyResponse(const OllamaRequest& request, bool is_chat);

// Returns what every path of a server that is up says to Ollama's clients: "Ollama is running".
HttpResponse OllamaIsRunning();

}  // namespace cairn

#endif  // CAIRN_ROUTES_OLLAMA_ROUTES_H_
