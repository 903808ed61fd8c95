// The answers of the API's handlers: a body, or an error in the words of the API.

#ifndef CAIRN_ROUTES_API_RESPONSE_H_
#define CAIRN_ROUTES_API_RESPONSE_H_

#include <string>
#include <utility>

#include "api/api_error.h"
#include "http/server.h"

namespace cairn {

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

}  // namespace cairn

#endif  // CAIRN_ROUTES_API_RESPONSE_H_
