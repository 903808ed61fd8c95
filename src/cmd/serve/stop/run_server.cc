#include "cmd/serve/stop/run_server.h"

#include <pthread.h>

#include <utility>

#include "base/process/try_work.h"

namespace cairn {

SignalThread::SignalThread(std::function<void(int signal)> on_signal) {
  sigemptyset(&signals_);
  // SIGUSR1 ends the thread.
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGUSR1}) sigaddset(&signals_, signal);
  pthread_sigmask(SIG_BLOCK, &signals_, nullptr);
  thread_ = std::thread([this, on_signal = std::move(on_signal)] {
    int signal = 0;
    while (sigwait(&signals_, &signal) == 0 && signal != SIGUSR1) {
      // After one that failed, the next signal may be heard.
      static_cast<void>(TryWork([&] { on_signal(signal); }));
    }
  });
}

SignalThread::~SignalThread() {
  pthread_kill(thread_.native_handle(), SIGUSR1);
  thread_.join();
}

}  // namespace cairn
