// ErrorAnswer: an error of the router itself, in the shape of the path's API.

#ifndef CAIRN_FLEET_ROUTER_ERROR_ANSWER_H_
#define CAIRN_FLEET_ROUTER_ERROR_ANSWER_H_

#include <string>
#include <string_view>

#include "api/api_error.h"
#include "base/result.h"
#include "routes/routes.h"

namespace cairn {

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

}  // namespace cairn

#endif  // CAIRN_FLEET_ROUTER_ERROR_ANSWER_H_
