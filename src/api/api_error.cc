#include "api/api_error.h"

#include "api/json.h"
#include "base/utf8.h"

namespace cairn {
namespace {

int StatusOf(ErrorCode code) {
  switch (code) {
    case ErrorCode::kInvalidArgument:
    case ErrorCode::kTooLong:
      return 400;
    case ErrorCode::kUnauthorized:
      return 401;
    case ErrorCode::kNotFound:
      return 404;
    case ErrorCode::kUnavailable:
    case ErrorCode::kCancelled:  // a client that shut down its own side alone still reads it
      return 503;
    case ErrorCode::kTimedOut:
      return 504;
    case ErrorCode::kUnsupported:
      return 501;
    case ErrorCode::kCorrupt:
    case ErrorCode::kNoSpace:
    case ErrorCode::kInternal:
      return 500;
  }
  return 500;
}

}  // namespace

std::string ErrorType(int status) {
  switch (status) {
    case 401:
      return "authentication_error";
    case 403:
      return "permission_error";
    case 404:
      return "not_found_error";
    case 429:
      return "rate_limit_error";
    case 501:
      return "not_supported_error";
    case 503:
      return "unavailable_error";
    case 504:
      return "timeout_error";
    default:
      return status < 500 ? "invalid_request_error" : "server_error";
  }
}

ApiError ToApiError(const Error& error) {
  ApiError api_error;
  api_error.status = StatusOf(error.code);
  api_error.type =
      error.code == ErrorCode::kTooLong ? "exceed_context_size_error" : ErrorType(api_error.status);
  api_error.message = error.message;
  return api_error;
}

ApiError FieldError(const std::string& field, const std::string& expected) {
  ApiError error;
  error.status = 400;
  error.type = ErrorType(400);
  error.message = "'" + field + "' must be " + expected;
  error.field = field;
  return error;
}

std::string ShownErrorText(std::string_view text) {
  if (text.size() <= kErrorTextBytesMax) return std::string(text);
  text = text.substr(0, kErrorTextBytesMax);
  return std::string(text.substr(0, CompleteUtf8Prefix(text))) + "…";
}

std::string ErrorBody(const ApiError& error) {
  Json body = {
      {"code", error.status}, {"message", ShownErrorText(error.message)}, {"type", error.type}};
  if (!error.field.empty()) body["param"] = ShownErrorText(error.field);
  if (error.context_tokens > 0) {
    body["n_prompt_tokens"] = error.prompt_tokens;
    body["n_ctx"] = error.context_tokens;
  }
  return ToText({{"error", std::move(body)}});
}

}  // namespace cairn
