// Routes: which path of the server leads to which part of the API.
//
// Headers by which clients name their session (X-Claude-Code-Session-Id, x-session-affinity,
// session-id, x-session-id) are read by nobody: which conversation a prompt goes on with is told by
// its tokens, so a client that names none, or a wrong one, loses nothing.

#ifndef CAIRN_HTTP_ROUTES_H_
#define CAIRN_HTTP_ROUTES_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/admin/request_log.h"
#include "api/answer/running_answers.h"
#include "api/chat_service.h"
#include "api/llama_server/infill.h"
#include "api/llama_server/native.h"
#include "api/llama_server/rerank.h"
#include "api/openai/stored_responses.h"
#include "base/clock.h"
#include "engine/embed/embedder.h"
#include "http/server.h"
#include "sched/slots/slot_files.h"

namespace cairn {

// What the routes serve. Outlives the server.
struct Served {
  // Null while the model loads: until then every path answers 503, /health too, which is how
  // clients know. The rest is set before it.
  std::atomic<const ChatService*> service = nullptr;
  // Told with 503 until the service is there. A text that lives as long as the program.
  std::atomic<const char*> not_ready = "Loading model";
  Embedder* embedder = nullptr;     // null: none was asked for
  const Rerank* rerank = nullptr;   // likewise
  InfillOptions infill;             // no tokens: /infill is 501
  SlotFiles* slot_files = nullptr;  // null: slots are not saved to files
  uint64_t disk_bytes_max = 0;      // of what is kept on disk; 0: nothing is
  GenerationParams defaults;
  // What answers must be where a request does not say: GBNF; empty: anything.
  std::string grammar;
  ServedModel model;
  // Seconds of silence after which a stream is pinged; 0 or less: never.
  int64_t sse_ping_interval_s = 30;
  RunningAnswers running;
  std::unique_ptr<StoredResponses> responses;  // null: none are stored
  RequestLog request_log;
  std::atomic<uint64_t> answers = 0;   // begun since the start; numbers them
  std::atomic<uint64_t> requests = 0;  // of any kind, likewise
  SteadyClock clock;
};

// REQUIRES: before server->Bind().
void AddRoutes(HttpServer* server, Served* served);

// The body of errors that the HTTP server answers by itself, in the shape of the API at `path`.
std::string HttpErrorBody(int status, std::string_view message, std::string_view path);

// What every answer at `path` says in its headers: the request's id, under the API's name for it.
std::vector<std::pair<std::string, std::string>> AnswerHeaders(Served* served,
                                                               std::string_view path);

}  // namespace cairn

#endif  // CAIRN_HTTP_ROUTES_H_
