#include "fleet/router/proxy.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "api/anthropic/anthropic.h"
#include "api/api_error.h"
#include "api/json.h"
#include "api/ollama/ollama_models.h"
#include "base/text.h"
#include "fleet/router/children/child_connection.h"

namespace cairn {
namespace {

constexpr std::string_view kData = "data: ";

std::string_view DataOf(std::string_view event) {
  const size_t begin = event.find(kData);
  if (begin == std::string_view::npos) return {};
  event.remove_prefix(begin + kData.size());
  return event.substr(0, event.find('\n'));
}

ApiError ErrorOf(const std::string& message) {
  ApiError error;
  error.status = 503;
  error.type = ErrorType(error.status);
  error.message = message;
  return error;
}

// The last event of a response: itself, as its first event had it, but failed.
std::string FailedResponse(std::string_view first_data, int64_t number,
                           const std::string& message) {
  Json event = Json::parse(first_data, nullptr, /*allow_exceptions=*/false);
  Json response = Json::object();
  if (event.is_object() && event.contains("response")) response = event["response"];
  if (!response.is_object()) response = Json::object();
  response["status"] = "failed";
  response["error"] = {{"code", "server_error"}, {"message", message}};
  const Json failed = {
      {"type", "response.failed"}, {"sequence_number", number}, {"response", std::move(response)}};
  return "event: response.failed\ndata: " + ToText(failed) + "\n\n";
}

using Step = ChildConnection::Step;

// How often a client that waits is looked at.
constexpr int kProxyWaitMs = 200;

// The headers of a request that mean something to a model's process. All others are of the
// client's connection to the router, or nobody reads them.
constexpr std::array<std::string_view, 5> kRequestHeaders = {"Accept", "Content-Type", "User-Agent",
                                                             "anthropic-beta", "anthropic-version"};

// The headers of an answer that are of the process's connection, or that the router sets itself.
constexpr std::array<std::string_view, 9> kConnectionHeaders = {
    "Accept-Ranges", "Connection", "Content-Length", "Content-Type",     "Date",
    "Keep-Alive",    "request-id", "Server",         "Transfer-Encoding"};

template <typename Names>
bool IsOneOf(std::string_view name, const Names& names) {
  return std::any_of(names.begin(), names.end(),
                     [&](std::string_view one) { return SameIgnoringCase(one, name); });
}

// The HTTP library decodes percents in headers, so that a value may hold the end of a line.
bool IsPlain(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) >= ' ' && c != '\x7f') || c == '\t';
  });
}

bool IsTarget(std::string_view text) {
  return text.starts_with('/') && text.find(' ') == std::string_view::npos && IsPlain(text);
}

std::string DeathText(const std::string& model) {
  return "the process of the model '" + model +
         "' ended before the answer did; send the request "
         "again";
}

// A stream on its way through the router.
struct PassedStream {
  std::unique_ptr<ChildConnection> connection;
  std::shared_ptr<ModelLease> lease;
  StreamEnd end;

  // As StreamBody::next.
  bool Next(std::string* chunk) {
    std::string bytes;
    const Step step = connection->ReadBody(kProxyWaitMs, &bytes);
    end.Pass(bytes, chunk);
    if (step == Step::kNothing || step == Step::kMore) return true;
    if (step == Step::kEnd) {
      end.Complete(chunk);
      lease->Answered();
    } else {
      lease->Broken();
      end.Break(DeathText(lease->name()), chunk);
    }
    Close();
    return false;
  }
  void Close() {
    connection.reset();
    lease.reset();
  }
};

void CopyHead(const ChildAnswerHead& head, HttpResponse* response) {
  response->status = head.status;
  const std::string_view type = head.Header("Content-Type");
  if (!type.empty()) response->content_type = type;
  for (const auto& [name, value] : head.headers) {
    if (IsOneOf(name, kConnectionHeaders) || SameIgnoringCase(name, "x-request-id")) continue;
    response->headers.emplace_back(name, value);
  }
}

}  // namespace

StreamEnd::StreamEnd(std::string_view path)
    : api_(path.starts_with("/v1/messages")    ? Api::kMessages
           : path.starts_with("/v1/responses") ? Api::kResponses
           : IsOllamaPath(path)                ? Api::kOllama
                                               : Api::kOpenAi) {}

void StreamEnd::Pass(std::string_view bytes, std::string* chunk) {
  // Nothing ends in what is held already, and a long event comes in many pieces.
  const std::string_view event_end = this->event_end();
  const size_t from = held_.size() - std::min(held_.size(), event_end.size() - 1);
  held_ += bytes;
  const size_t end = std::string_view(held_).substr(from).rfind(event_end);
  if (end == std::string_view::npos) return;
  const size_t size = from + end + event_end.size();
  Look(std::string_view(held_).substr(0, size));
  chunk->append(held_, 0, size);
  held_.erase(0, size);
}

// Counts events, as the Responses API numbers them from 0.
void StreamEnd::Look(std::string_view events) {
  if (api_ != Api::kResponses) return;
  while (!events.empty()) {
    const size_t size = events.find(event_end()) + event_end().size();
    const std::string_view data = DataOf(events.substr(0, size));
    if (!data.empty() && events_++ == 0) first_data_ = data;
    events.remove_prefix(size);
  }
}

void StreamEnd::Complete(std::string* chunk) {
  chunk->append(held_);
  held_.clear();
}

void StreamEnd::Break(const std::string& message, std::string* chunk) {
  held_.clear();
  switch (api_) {
    case Api::kMessages:
      *chunk += "event: error\ndata: " + MessagesErrorBody(ErrorOf(message)) + "\n\n";
      break;
    case Api::kResponses:
      *chunk += FailedResponse(first_data_, events_, message);
      break;
    case Api::kOllama:
      *chunk += OllamaErrorBody(ErrorOf(message)) + "\n";
      break;
    case Api::kOpenAi:
      *chunk += "data: " + ErrorBody(ErrorOf(message)) + "\n\n";
  }
}

// The key's own text: what the HTTP library returns of the header was decoded once already.
std::string Proxy::KeyOf(const HttpRequest& request) const {
  if (keys_ == nullptr || request.key_number == 0) return {};
  const auto known = keys_->known();
  const size_t index = request.key_number - 1;
  return index < known.size() ? known[index].text : std::string();
}

HttpResponse Proxy::Forward(const HttpRequest& request, std::shared_ptr<ModelLease> lease) const {
  if (!IsTarget(request.target)) {
    return ErrorAnswer(400, "the request's target has characters that it may not have",
                       request.path);
  }
  ChildRequest sent;
  sent.method = request.method;
  sent.target = request.target;
  sent.body = request.body;
  for (const auto& [name, value] : request.headers) {
    if (IsOneOf(name, kRequestHeaders) && IsPlain(value)) sent.headers.emplace_back(name, value);
  }
  if (std::string key = KeyOf(request); !key.empty()) {
    sent.headers.emplace_back("Authorization", "Bearer " + std::move(key));
  }
  const std::string model = lease->name();
  auto connection = ChildConnection::Send(lease->port(), sent);
  if (!connection) {
    if (connection.error().code == ErrorCode::kNotFound) lease->Refused();
    return ErrorAnswer(503, DeathText(model), request.path);
  }
  const auto goes_on = [&](Step step) { return step == Step::kNothing && !request.gone(); };
  Step step = Step::kNothing;
  while (goes_on(step)) step = (*connection)->ReadHead(kProxyWaitMs);
  if (step == Step::kBroken) lease->Broken();
  if (step != Step::kMore) return ErrorAnswer(503, DeathText(model), request.path);

  HttpResponse response;
  CopyHead((*connection)->head(), &response);
  if ((*connection)->head().streams && request.method != "HEAD") {
    auto stream = std::make_shared<PassedStream>(
        PassedStream{std::move(*connection), std::move(lease), StreamEnd(request.path)});
    response.stream.next = [stream](std::string* chunk) { return stream->Next(chunk); };
    response.stream.on_gone = [stream] { stream->Close(); };
    return response;
  }
  do {
    step = (*connection)->ReadBody(kProxyWaitMs, &response.body);
  } while (step == Step::kMore || goes_on(step));
  if (step == Step::kBroken) lease->Broken();
  if (step != Step::kEnd) return ErrorAnswer(503, DeathText(model), request.path);
  lease->Answered();
  return response;
}

}  // namespace cairn
