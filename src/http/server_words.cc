#include "http/server_words.h"

#include <new>

namespace cairn {

HandlerFailure FailureOf(const std::exception_ptr& thrown) {
  HandlerFailure failure;
  failure.message = "the server failed on this request; see its log";
  try {
    std::rethrow_exception(thrown);
  } catch (const std::bad_alloc&) {
    failure.status = 503;
    failure.why = "out of memory";
    failure.message =
        "the server has no memory left for this request; try again later, or send a smaller one";
  } catch (const std::exception& error) {
    failure.why = error.what();
  } catch (...) {
    failure.why = "an unknown exception was thrown";
  }
  return failure;
}

}  // namespace cairn
