// Proxy: has a request answered by a model's process, and passes the answer on.
//
//   client ── request ──> router ── the same request, with the client's key ──> process
//          <── each piece of the answer as it comes ── the process's answer ──
//
// The process has the same keys and puts the request into the same namespace as a single server
// would. When the client disconnects, the process's connection is closed, which cancels the answer
// there. If the process dies, the client gets a 503, or, in the middle of a stream, an error event.
//
// Thread-safe.

#ifndef CAIRN_FLEET_ROUTER_PROXY_H_
#define CAIRN_FLEET_ROUTER_PROXY_H_

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "api/api_error.h"
#include "base/result.h"
#include "fleet/router/children/model_set.h"
#include "http/keys.h"
#include "http/server.h"
#include "routes/routes.h"

namespace cairn {

// ErrorAnswer: an error of the router itself, in the shape of the path's API.

inline HttpResponse ErrorAnswer(int status, const std::string& message, std::string_view path) {
  HttpResponse response;
  response.status = status;
  response.body = HttpErrorBody(status, message, path);
  response.error_message = message;
  if (status == 503) response.headers.emplace_back("Retry-After", "1");
  return response;
}

inline HttpResponse ErrorAnswer(const Error& error, std::string_view path) {
  return ErrorAnswer(ToApiError(error).status, error.message, path);
}

// StreamEnd: passes a model's stream on to the client, and ends it properly if the model's process
// dies in the middle: with an error event in the form of the API, instead of a cut connection.
//
// Only complete events are passed on, so that the error never follows half an event. Our processes
// send events whole, so nothing waits for that. In Ollama's streams a line is an event.
//
// Used by one thread.
class StreamEnd {
 public:
  // `path` is the request's, and says which API it is.
  explicit StreamEnd(std::string_view path);

  // Appends what came, as far as it can be passed on, to `chunk`.
  void Pass(std::string_view bytes, std::string* chunk);
  // Appends the rest of a complete stream.
  void Complete(std::string* chunk);
  // Appends the event that says that the stream ended too early.
  void Break(const std::string& message, std::string* chunk);

 private:
  enum class Api { kOpenAi, kMessages, kResponses, kOllama };
  // Returns the text behind each event.
  std::string_view event_end() const { return api_ == Api::kOllama ? "\n" : "\n\n"; }
  void Look(std::string_view events);

  Api api_;
  std::string held_;        // the beginning of an event
  int64_t events_ = 0;      // passed on, without comments
  std::string first_data_;  // of the Responses API: the data of the first event
};

class Proxy {
 public:
  // `keys` are those of the router's server; null if there are none.
  explicit Proxy(std::shared_ptr<const ApiKeys> keys) : keys_(std::move(keys)) {}

  // Waits for the answer's head, and for all of an answer that is no stream. A stream keeps the
  // lease until its end. If the process takes no connections, the lease says so, and the request
  // may be forwarded to the next process.
  HttpResponse Forward(const HttpRequest& request, std::shared_ptr<ModelLease> lease) const;

 private:
  std::string KeyOf(const HttpRequest& request) const;

  const std::shared_ptr<const ApiKeys> keys_;
};

}  // namespace cairn

#endif  // CAIRN_FLEET_ROUTER_PROXY_H_
