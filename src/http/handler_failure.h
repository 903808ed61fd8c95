// The answer and the log line for a handler that threw.

#ifndef CAIRN_HTTP_HANDLER_FAILURE_H_
#define CAIRN_HTTP_HANDLER_FAILURE_H_

#include <exception>
#include <string>

namespace cairn {

struct HandlerFailure {
  int status = 500;     // 503 if a retry may succeed
  std::string why;      // for the log
  std::string message;  // for the client
};

HandlerFailure FailureOf(const std::exception_ptr& thrown);

}  // namespace cairn

#endif  // CAIRN_HTTP_HANDLER_FAILURE_H_
