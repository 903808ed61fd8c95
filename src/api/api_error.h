// ApiError: what goes wrong with a request, as a client is told it.

#ifndef CAIRN_API_API_ERROR_H_
#define CAIRN_API_API_ERROR_H_

#include <cstddef>
#include <string>
#include <tl/expected.hpp>

#include "base/result.h"

namespace cairn {

struct ApiError {
  int status = 500;           // of HTTP
  std::string type;           // llama-server's names: "invalid_request_error", …
  std::string message;        // what was wrong, what was expected
  std::string field;          // the field of the request it is about; may be empty
  size_t prompt_tokens = 0;   // set when the prompt is too long
  size_t context_tokens = 0;  // set when the prompt is too long
};

template <typename T>
using ApiResult = tl::expected<T, ApiError>;

ApiError ToApiError(const Error& error);
// 400. `expected` words what the field takes: "a number between 0 and 2".
ApiError FieldError(const std::string& field, const std::string& expected);
// The type that goes with a status.
std::string ErrorType(int status);
// {"error": {"code", "message", "type", "param"…}}
std::string ErrorBody(const ApiError& error);

}  // namespace cairn

#endif  // CAIRN_API_API_ERROR_H_
