// Routes: maps the server's paths to the parts of the API.
//
// Headers in which clients name their session (X-Claude-Code-Session-Id, x-session-affinity,
// session-id, x-session-id) are ignored. The tokens of a prompt determine which conversation it
// continues, so a client that sends no name, or a wrong one, loses nothing.

#ifndef CAIRN_ROUTES_ROUTES_H_
#define CAIRN_ROUTES_ROUTES_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/admin/drain.h"
#include "api/admin/refusals.h"
#include "api/answer/running_answers.h"
#include "api/llama_server/infill.h"
#include "api/llama_server/native.h"
#include "api/llama_server/rerank.h"
#include "api/openai/stored_responses.h"
#include "api/record/request_log.h"
#include "api/service/chat_service.h"
#include "base/clock.h"
#include "engine/embed/embedder.h"
#include "http/server.h"
#include "sched/slot_files.h"
#include "tree/prefix_change.h"

namespace cairn {

// The objects and options behind the routes. Outlives the server.
struct Served {
  // Null while the model loads: until then every path answers 503, including /health, which is how
  // clients detect it. All other members are set before it.
  std::atomic<const ChatService*> service = nullptr;
  // The message of the 503 answers until `service` is set. The text must live as long as the
  // program.
  std::atomic<const char*> not_ready = "Loading model";
  Embedder* embedder = nullptr;  // null: not configured
  // Returns the rows of a medium in a text to embed. Empty without a projector. Any thread.
  std::function<Result<EncodedPieces>(NamespaceId key, const Medium& medium)> encode_medium;
  const Rerank* rerank = nullptr;                // null: not configured
  InfillOptions infill;                          // without tokens, /infill answers 501
  const PublishedPrefixes* kv_events = nullptr;  // null: none are published
  SlotFiles* slot_files = nullptr;               // null: slots are not saved to files
  bool shows_slots = true;                       // false: GET /slots answers 501
  size_t cache_beside_bytes = 0;  // the part of --cache-ram that is not the prefix cache's
  GenerationParams defaults;
  // The grammar (GBNF) for requests that set none; empty: unconstrained.
  std::string grammar;
  bool grammar_is_format = false;  // see ChatRequest
  ServedModel model;
  // Seconds of silence after which a stream is pinged; 0 or less: never.
  int64_t sse_ping_interval_s = 30;
  RunningAnswers running;
  std::unique_ptr<StoredResponses> responses;  // null: none are stored
  RequestLog request_log;
  std::atomic<uint64_t> answers = 0;   // answers begun since the server's start; numbers them
  std::atomic<uint64_t> requests = 0;  // requests of any kind since the server's start; numbers
                                       // them
  SteadyClock clock;
  Drain drain{&clock};
  Refusals refusals{&clock};

  TextCounts TextsComputed() const {
    TextCounts counts;
    if (embedder != nullptr) counts += embedder->counts();
    if (rerank != nullptr) counts += rerank->counts();
    return counts;
  }
};

// REQUIRES: before server->Bind().
void AddRoutes(HttpServer* server, Served* served);

// Returns the body of errors that the HTTP server answers itself, in the format of the API at
// `path`.
std::string HttpErrorBody(int status, std::string_view message, std::string_view path);

// Returns the headers of every answer at `path`: the request's id, under that API's name for it.
std::vector<std::pair<std::string, std::string>> AnswerHeaders(Served* served,
                                                               std::string_view path);
// Returns the header with the id of the request of this number, of a server that started then.
std::pair<std::string, std::string> RequestIdHeader(std::string_view path, int64_t started_unix_s,
                                                    uint64_t number);

}  // namespace cairn

#endif  // CAIRN_ROUTES_ROUTES_H_
