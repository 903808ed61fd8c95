#include "cmd/serve/stop/run_server.h"

#include <pthread.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <thread>
#include <utility>

#include "base/mutex.h"
#include "base/process/threads.h"

namespace cairn {

GracefulStop::GracefulStop(Drain* drain, std::function<void()> stop)
    : drain_(drain), stop_(std::move(stop)), thread_([this] { Run(); }) {}

GracefulStop::~GracefulStop() {
  {
    const MutexLock lock(mutex_);
    stopped_ = true;
  }
  changed_.NotifyOne();
  drain_->StopWaiting();
  thread_.join();
}

void GracefulStop::Begin(double ms_max) {
  drain_->Stop();
  {
    const MutexLock lock(mutex_);
    if (stopped_ || ms_max_) return;
    ms_max_ = ms_max;
  }
  changed_.NotifyOne();
}

void GracefulStop::Run() {
  double ms_max = 0;
  {
    const MutexLock lock(mutex_);
    changed_.Wait(mutex_, [this]() REQUIRES(mutex_) { return stopped_ || ms_max_; });
    if (!ms_max_) return;
    ms_max = *ms_max_;
  }
  // Whatever fails, the server stops.
  static_cast<void>(TryWork([&] { drain_->WaitForRequests(ms_max); }));
  static_cast<void>(TryWork([this] { Now(); }));
}

bool GracefulStop::Now() {
  {
    const MutexLock lock(mutex_);
    if (std::exchange(stopped_, true)) return false;
  }
  drain_->Stop();
  drain_->StopWaiting();
  stop_();
  return true;
}

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

using std::chrono::steady_clock;

struct ExitLimit::State {
  explicit State(const ServerLog& its_log) : log(its_log) {}

  const ServerLog log;
  Mutex mutex;
  CondVar changed;
  std::optional<steady_clock::time_point> deadline GUARDED_BY(mutex);
  int code GUARDED_BY(mutex) = 1;
};

ExitLimit::ExitLimit(const ServerLog& log) : state_(std::make_shared<State>(log)) {
  // The thread takes no signal: SignalThread waits for them.
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  std::thread([state = state_] {
    static_cast<void>(TryWork([&state] { Wait(state.get()); }));
  }).detach();
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

void ExitLimit::Arm(double ms) {
  const auto deadline = steady_clock::now() + std::chrono::milliseconds(static_cast<int64_t>(ms));
  {
    const MutexLock lock(state_->mutex);
    state_->deadline = std::min(state_->deadline.value_or(deadline), deadline);
  }
  state_->changed.NotifyOne();
}

void ExitLimit::SetCode(int code) {
  const MutexLock lock(state_->mutex);
  state_->code = code;
}

void ExitLimit::Wait(State* state) {
  const MutexLock lock(state->mutex);
  while (!state->deadline || steady_clock::now() < *state->deadline) {
    if (state->deadline) {
      state->changed.WaitFor(state->mutex, *state->deadline - steady_clock::now());
    } else {
      state->changed.Wait(state->mutex);
    }
  }
  state->log->warn(
      "a request, the disk or the model does not come back: exiting without waiting for it; {}",
      state->code == 0 ? "what was worth saving is saved" : "unsaved state is lost");
  state->log->flush();
  std::_Exit(state->code);
}

}  // namespace cairn
