// Ollama's API in front of several models: requests go to the model that they name, with or without
// the tag "latest", and the lists are of all models.
//
//   /api/chat, /api/generate, /api/embed, /api/embeddings    the named model's process; one without
//                                                            a prompt and with keep_alive 0 unloads
//   /api/tags                                                all models
//   /api/ps                                                  those that are loaded
//   /api/show                                                the model's process if it is loaded;
//                                                            otherwise what its flags say: clients
//                                                            show every model of the list, and each
//                                                            would be loaded

#ifndef CAIRN_FLEET_ROUTER_OLLAMA_MODELS_ROUTES_H_
#define CAIRN_FLEET_ROUTER_OLLAMA_MODELS_ROUTES_H_

#include "fleet/router/router_routes.h"

namespace cairn {

// REQUIRES: before server->Bind().
void AddOllamaModelsRoutes(HttpServer* server, const RouterParts* parts);

}  // namespace cairn

#endif  // CAIRN_FLEET_ROUTER_OLLAMA_MODELS_ROUTES_H_
