// Routes: which path of the server leads to which part of the API.

#ifndef CAIRN_HTTP_ROUTES_H_
#define CAIRN_HTTP_ROUTES_H_

#include <atomic>
#include <string>

#include "api/chat_service.h"
#include "api/native.h"
#include "engine/embedder.h"
#include "http/server.h"

namespace cairn {

// What the routes serve. Outlives the server.
struct Served {
  // Null while the model loads: until then every path answers 503, /health too, which is how
  // clients know. The rest is set before it.
  std::atomic<const ChatService*> service = nullptr;
  Embedder* embedder = nullptr;  // null: none was asked for
  GenerationParams defaults;
  // What answers must be where a request does not say: GBNF; empty: anything.
  std::string grammar;
  ServedModel model;
  std::atomic<uint64_t> answers = 0;  // begun since the start; numbers them
};

// REQUIRES: before server->Bind().
void AddRoutes(HttpServer* server, Served* served);

// The body of errors that the HTTP server answers by itself, in the API's shape.
std::string HttpErrorBody(int status, std::string_view message);

}  // namespace cairn

#endif  // CAIRN_HTTP_ROUTES_H_
