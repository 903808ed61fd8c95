// The parts that the routes of all APIs share: an answer's identity and its record, whole answers
// and streams, handlers that wait for the model, and those that a drain stops.

#ifndef CAIRN_ROUTES_ANSWERING_H_
#define CAIRN_ROUTES_ANSWERING_H_

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "api/answer/answer_identity.h"
#include "api/api_error.h"
#include "api/record/request_log.h"
#include "api/request/chat_request.h"
#include "api/service/chat_service.h"
#include "base/clock.h"
#include "http/server.h"
#include "routes/routes.h"

namespace cairn {

// The routes of a drain: GET, POST and DELETE /cairn/drain, /health, and the 503 of requests that
// come while the server drains (api/admin/drain.h).

// Wraps the handler of a route that computes: while the server drains, it answers 503. Otherwise
// the drain waits until the answer has been sent. `served` outlives the server.
HttpHandler UnlessDraining(Served* served, HttpHandler handler);

// Answers 503 while the server drains. REQUIRES: the model is loaded.
HttpResponse HealthResponse(const Served& served);

// REQUIRES: before server->Bind().
void AddDrainRoutes(HttpServer* server, Served* served);

// The answers of the API's handlers: a body, or an error in the words of the API.

// Formats an error as an API words it.
using ErrorWording = std::string (*)(const ApiError& error);

inline HttpResponse ErrorResponse(const ApiError& error, ErrorWording wording = ErrorBody) {
  HttpResponse response;
  response.status = error.status;
  response.body = wording(error);
  response.error_message = error.message;
  if (error.status == 503) response.headers.emplace_back("Retry-After", "1");
  return response;
}

inline HttpResponse ToResponse(ApiResult<std::string> body, ErrorWording wording = ErrorBody) {
  if (!body) return ErrorResponse(body.error(), wording);
  HttpResponse response;
  response.body = std::move(*body);
  return response;
}

// StreamPing: sends pings on an idle event stream, so that neither the client nor a proxy takes a
// long prefill for a dead connection.

// An SSE comment, which every client skips.
inline constexpr std::string_view kPingComment = ": ping\n\n";

// Used by one thread.
class StreamPing {
 public:
  // Pings after every `interval_ms` of silence; 0 or less: never. `clock` outlives it.
  StreamPing(const Clock* clock, double interval_ms)
      : clock_(clock), interval_ms_(interval_ms), sent_ms_(clock->NowMs()) {}

  // To be called with the data that the stream is about to send. If that is empty and a ping is
  // due, sets it to `ping`.
  void Fill(std::string_view ping, std::string* chunk);

 private:
  const Clock* const clock_;
  const double interval_ms_;
  double sent_ms_;  // time of the last data
};

// Every key is its own namespace, and so is having no key.
inline NamespaceId NamespaceOf(const HttpRequest& request) {
  return request.key_number;
}

// Numbers a new answer, whose id begins with `prefix`.
AnswerIdentity NewIdentity(const std::string& prefix, Served& served);

// From here on GET /cairn/requests lists the request.
std::shared_ptr<RequestRecord> Record(Served& served, const ChatService& service,
                                      const HttpRequest& request, const AnswerIdentity& identity,
                                      ExplainedPrompt prompt, Generation* generation);

// An answer that has started; from then on it can be cancelled by its id.
struct Begun {
  AnswerIdentity identity;
  std::shared_ptr<RequestRecord> record;
};
// With `explain` the answer includes the explanation too.
Begun Begin(const std::string& prefix, Served& served, const ChatService& service,
            const HttpRequest& request, bool explain, StartedChat* chat);

// A complete answer, with the outcome of its prompt in the headers.
HttpResponse WholeResponse(ApiResult<std::string> body, const RequestRecord& record,
                           ErrorWording wording = ErrorBody);

// Applies the server's default grammar to requests that set none.
void UseGrammar(const Served& served, ChatRequest* request);

// For answers that are streamed; the others are collected as fast as they grow.
std::optional<ApiError> FailureBeforeStream(const Served& served, const HttpRequest& request,
                                            Generation* generation);

// Milliseconds of silence after which a stream is pinged; 0 or less: never.
double PingMs(const Served& served);

// Returns the API's own ping, or an SSE comment where it has none.
template <typename Stream>
std::string_view PingOf(const Stream& stream) {
  if constexpr (requires { stream.ping(); }) {
    return stream.ping();
  } else {
    return kPingComment;
  }
}

// Streams an answer from a class with Next() and Abandon(): as server-sent events, or as the
// class's kContentType says.
template <typename Stream>
HttpResponse StreamResponse(const Served& served, const std::shared_ptr<Stream>& stream) {
  HttpResponse response;
  response.content_type = "text/event-stream";
  if constexpr (requires { Stream::kContentType; }) response.content_type = Stream::kContentType;
  response.headers = {{"Cache-Control", "no-cache"}};
  response.stream.next =
      [stream, ping = StreamPing(&served.clock, PingMs(served))](std::string* chunk) mutable {
        const bool more = stream->Next(chunk);
        if (more) ping.Fill(PingOf(*stream), chunk);
        return more;
      };
  response.stream.on_gone = [stream] { stream->Abandon(); };
  return response;
}

using ServiceHandler =
    std::function<HttpResponse(const ChatService& service, const HttpRequest& request)>;

// Wraps a handler so that it answers 503 until the model is loaded.
HttpHandler WhenLoaded(const Served* served, ServiceHandler handler,
                       ErrorWording wording = ErrorBody);

// Likewise for what computes, and so is refused while the server drains.
HttpHandler WhenOpen(Served* served, ServiceHandler handler, ErrorWording wording = ErrorBody);

}  // namespace cairn

#endif  // CAIRN_ROUTES_ANSWERING_H_
