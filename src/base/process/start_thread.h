// StartThread: starts a thread, or says that the system has no more.
//
// std::thread throws where none can be started, and an exception that no one expects ends the
// process. Where fewer threads do as well, or a request can be refused, call this instead.

#ifndef CAIRN_BASE_PROCESS_START_THREAD_H_
#define CAIRN_BASE_PROCESS_START_THREAD_H_

#include <system_error>
#include <thread>
#include <utility>
#include <vector>

namespace cairn {

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

}  // namespace cairn

#endif  // CAIRN_BASE_PROCESS_START_THREAD_H_
