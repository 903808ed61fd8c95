// SignalThread: a thread that waits for SIGINT, SIGTERM and SIGHUP, so that no handler interrupts
// other code. Its constructor blocks them in the calling thread and in all that this one starts.

#ifndef CAIRN_CMD_SERVE_STOP_SIGNAL_THREAD_H_
#define CAIRN_CMD_SERVE_STOP_SIGNAL_THREAD_H_

#include <csignal>
#include <functional>
#include <thread>

namespace cairn {

class SignalThread {
 public:
  // `on_signal` is called with each signal's number, on the thread of this object. REQUIRES: no
  // other thread has been started.
  explicit SignalThread(std::function<void(int signal)> on_signal);
  ~SignalThread();
  SignalThread(const SignalThread&) = delete;
  SignalThread& operator=(const SignalThread&) = delete;

 private:
  sigset_t signals_{};
  std::thread thread_;
};

}  // namespace cairn

#endif  // CAIRN_CMD_SERVE_STOP_SIGNAL_THREAD_H_
