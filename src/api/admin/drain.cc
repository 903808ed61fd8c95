#include "api/admin/drain.h"

#include <algorithm>
#include <chrono>

#include "api/json.h"

namespace cairn {

namespace {

using Milliseconds = std::chrono::duration<double, std::milli>;

}  // namespace

void Drain::SetDelay(double ms) {
  const MutexLock lock(mutex_);
  delay_ms_ = ms;
}

Drain::Pass Drain::Enter() {
  const MutexLock lock(mutex_);
  if (IsRefusing()) return nullptr;
  ++state_.requests;
  return Pass(this, [](Drain* drain) { drain->Leave(); });
}

void Drain::Leave() {
  const MutexLock lock(mutex_);
  if (--state_.requests == 0) changed_.NotifyAll();
}

void Drain::BeginLocked() {
  if (state_.draining) return;
  state_.draining = true;
  refuses_at_ms_ = clock_->NowMs() + delay_ms_;
}

double Drain::DelayLeftMs() const {
  return std::max(refuses_at_ms_ - clock_->NowMs(), 0.0);
}

void Drain::Begin() {
  const MutexLock lock(mutex_);
  BeginLocked();
}

bool Drain::End() {
  const MutexLock lock(mutex_);
  if (state_.stopping) return false;
  state_.draining = false;
  return true;
}

void Drain::Stop() {
  const MutexLock lock(mutex_);
  BeginLocked();
  state_.stopping = true;
}

void Drain::WaitForRequests(double ms_max) {
  const MutexLock lock(mutex_);
  const double end_ms = clock_->NowMs() + ms_max;
  changed_.WaitFor(mutex_, Milliseconds(std::min(DelayLeftMs(), ms_max)),
                   [this]() REQUIRES(mutex_) { return waits_no_more_; });
  changed_.WaitFor(mutex_, Milliseconds(std::max(end_ms - clock_->NowMs(), 0.0)),
                   [this]() REQUIRES(mutex_) { return state_.requests == 0 || waits_no_more_; });
}

void Drain::StopWaiting() {
  const MutexLock lock(mutex_);
  waits_no_more_ = true;
  changed_.NotifyAll();
}

Drain::State Drain::state() const {
  const MutexLock lock(mutex_);
  State state = state_;
  state.refusing = IsRefusing();
  return state;
}

std::string DrainBody(const Drain::State& state, const ChatService& service) {
  const bool idle = state.refusing && state.requests == 0;
  // The figures are older than the last answer's end until the context thread has looked again.
  const auto left = idle ? service.Flush() : Result<size_t>(service.stats().unsaved_bytes);
  const SchedulerStats stats = service.stats();
  const uint64_t unsaved_bytes = left.value_or(stats.unsaved_bytes) + stats.saved.unsynced_bytes;
  const RemoteFigures& remote = stats.remote;
  // Neither a disk that takes nothing nor a remote store that does not answer is waited for.
  const bool uploaded = remote.to_upload == 0 || remote.open || remote.refusing;
  const bool saved = left.has_value() && (unsaved_bytes == 0 || stats.saved.takes_nothing());
  return ToText({{"draining", state.draining},
                 {"stopping", state.stopping},
                 {"drained", idle && saved && uploaded},
                 {"requests", state.requests},
                 {"unsaved_bytes", unsaved_bytes},
                 {"objects_to_upload", remote.to_upload}});
}

}  // namespace cairn
