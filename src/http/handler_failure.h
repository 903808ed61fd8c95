// What a client and the log are told of a handler that threw.

#ifndef CAIRN_HTTP_HANDLER_FAILURE_H_
#define CAIRN_HTTP_HANDLER_FAILURE_H_

#include <exception>
#include <string>

namespace cairn {

struct HandlerFailure {
  int status = 500;     // 503: it may well work later
  std::string why;      // for the log
  std::string message;  // for the client
};

HandlerFailure FailureOf(const std::exception_ptr& thrown);

}  // namespace cairn

#endif  // CAIRN_HTTP_HANDLER_FAILURE_H_
