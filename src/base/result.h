// Result<T>: the return type of a call that can fail for reasons outside the program.
//
// An Error is a code that a caller can act on, and one sentence for a person: what was wrong, what
// was expected, what to do. Our own bugs are not errors; they are CHECKs (base/check.h).

#ifndef CAIRN_BASE_RESULT_H_
#define CAIRN_BASE_RESULT_H_

#include <string>
#include <tl/expected.hpp>
#include <utility>

namespace cairn {

enum class ErrorCode {
  kInvalidArgument,  // the caller's input is wrong; a retry will not help
  kUnauthorized,     // no key, or the wrong one
  kNotFound,         // there is no object of that name
  kTooLong,          // the prompt does not fit the context
  kUnavailable,      // not now: loading, shutting down, the queue is full
  kCancelled,        // the client went away
  kTimedOut,         // a time limit has passed
  kCorrupt,          // the bytes are not valid
  kNoSpace,          // a budget or a device is full
  kUnsupported,      // not supported by this model or build
  kInternal,         // a library failed for an unknown reason
};

struct Error {
  ErrorCode code = ErrorCode::kInternal;
  std::string message;
};

template <typename T>
using Result = tl::expected<T, Error>;
using Status = Result<void>;

inline tl::unexpected<Error> Fail(ErrorCode code, std::string message) {
  return tl::unexpected<Error>(Error{code, std::move(message)});
}

}  // namespace cairn

#endif  // CAIRN_BASE_RESULT_H_
