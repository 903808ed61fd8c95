#include "fleet/router/stream_end.h"

#include <algorithm>

#include "api/anthropic/anthropic.h"
#include "api/api_error.h"
#include "api/json.h"
#include "api/ollama/ollama_models.h"

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

}  // namespace cairn
