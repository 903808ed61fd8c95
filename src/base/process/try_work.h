// TryWork: does a piece of a thread's work, and returns what it throws as an error.
//
// An exception that leaves the body of a thread ends the process, and any allocation may throw one.
// So the body of each thread does its work in here, piece by piece: what runs out of memory is a
// miss, a failed request or a lost line, and the thread goes on with the next piece.
//
// Any thread.

#ifndef CAIRN_BASE_PROCESS_TRY_WORK_H_
#define CAIRN_BASE_PROCESS_TRY_WORK_H_

#include <exception>
#include <new>
#include <string>
#include <utility>

#include "base/mutex.h"
#include "base/result.h"

namespace cairn {

// Returns kUnavailable if memory is short, kInternal with the exception's text otherwise. Throws
// nothing.
// The work runs under the locks of the caller, which clang does not see here.
template <typename Work>
Status TryWork(Work&& work) noexcept NO_THREAD_SAFETY_ANALYSIS {
  // Each text is short enough to need no memory.
  try {
    std::forward<Work>(work)();
    return {};
  } catch (const std::bad_alloc&) {
    return Fail(ErrorCode::kUnavailable, "out of memory");
  } catch (const std::exception& error) {
    try {
      return Fail(ErrorCode::kInternal, error.what());
    } catch (...) {
      return Fail(ErrorCode::kUnavailable, "out of memory");
    }
  } catch (...) {
    return Fail(ErrorCode::kInternal, "it threw");
  }
}

}  // namespace cairn

#endif  // CAIRN_BASE_PROCESS_TRY_WORK_H_
