// ApiError: an error of a request as the client gets it.

#ifndef CAIRN_API_API_ERROR_H_
#define CAIRN_API_API_ERROR_H_

#include <cstddef>
#include <string>
#include <string_view>
#include <tl/expected.hpp>

#include "base/result.h"

namespace cairn {

struct ApiError {
  int status = 500;           // of HTTP
  std::string type;           // llama-server's names: "invalid_request_error", …
  std::string message;        // what is wrong and what was expected
  std::string field;          // the request's field in question; may be empty
  size_t prompt_tokens = 0;   // set when the prompt is too long
  size_t context_tokens = 0;  // set when the prompt is too long
};

template <typename T>
using ApiResult = tl::expected<T, ApiError>;

ApiError ToApiError(const Error& error);
// Returns a 400. `expected` describes valid values: "a number between 0 and 2".
ApiError FieldError(const std::string& field, const std::string& expected);
// Returns the error type that belongs to a status.
std::string ErrorType(int status);
// A client's own text may stand in an error, and is as long as the client likes; so much of an
// error's text is sent back.
inline constexpr size_t kErrorTextBytesMax = 4096;
// Returns the text, or its beginning and "…" if it is longer. Characters are not split.
std::string ShownErrorText(std::string_view text);
// Returns {"error": {"code", "message", "type", "param"…}}, of texts that are shown.
std::string ErrorBody(const ApiError& error);

}  // namespace cairn

#endif  // CAIRN_API_API_ERROR_H_
