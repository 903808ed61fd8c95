// Threads: how one starts, at which priority it runs, and how it does work that may throw.

#ifndef CAIRN_BASE_PROCESS_THREADS_H_
#define CAIRN_BASE_PROCESS_THREADS_H_

#include <exception>
#include <new>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "base/result.h"

namespace cairn {

// Starts a thread, or says that the system has no more. std::thread throws where none can be
// started, and an exception that no one expects ends the process. Where fewer threads do as well,
// or a request can be refused, call this instead.
//
// Appends a thread that runs `run(arguments...)`, as std::thread does. Returns false if the system
// has no more threads; `threads` is as before then.
template <typename... Run>
bool StartThread(std::vector<std::thread>* threads, Run&&... run) {
  try {
    threads->emplace_back(std::forward<Run>(run)...);
    return true;
  } catch (const std::system_error&) {
    return false;
  }
}

// Lowers the priority of the calling thread. Does nothing where the system has no per-thread
// priority or does not allow the change. A compute thread that shares its processor delays all the
// others at the end of every operation, so threads that save to disk or render ahead of time should
// only use idle time.
void LowerThreadPriority();

// Does a piece of a thread's work, and returns what it throws as an error.
//
// An exception that leaves the body of a thread ends the process, and any allocation may throw one.
// So the body of each thread does its work in here, piece by piece: what runs out of memory is a
// miss, a failed request or a lost line, and the thread goes on with the next piece.
//
// Any thread. Returns kUnavailable if memory is short, kInternal with the exception's text
// otherwise. Throws nothing. The work runs under the locks of the caller, which clang does not see
// here.
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

#endif  // CAIRN_BASE_PROCESS_THREADS_H_
