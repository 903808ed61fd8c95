#include "api/admin/drain.h"

#include <chrono>

#include "api/json.h"

namespace cairn {

Drain::Pass Drain::Enter() {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (state_.draining) return nullptr;
  ++state_.requests;
  return Pass(this, [](Drain* drain) { drain->Leave(); });
}

void Drain::Leave() {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (--state_.requests == 0) changed_.notify_all();
}

void Drain::Begin() {
  const std::lock_guard<std::mutex> lock(mutex_);
  state_.draining = true;
}

bool Drain::End() {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (state_.stopping) return false;
  state_.draining = false;
  return true;
}

void Drain::Stop() {
  const std::lock_guard<std::mutex> lock(mutex_);
  state_.draining = state_.stopping = true;
}

void Drain::WaitForRequests(double ms_max) {
  std::unique_lock<std::mutex> lock(mutex_);
  changed_.wait_for(lock, std::chrono::duration<double, std::milli>(ms_max),
                    [this] { return state_.requests == 0 || waits_no_more_; });
}

void Drain::StopWaiting() {
  const std::lock_guard<std::mutex> lock(mutex_);
  waits_no_more_ = true;
  changed_.notify_all();
}

Drain::State Drain::state() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return state_;
}

std::string DrainBody(const Drain::State& state, const ChatService& service) {
  const bool idle = state.draining && state.requests == 0;
  // The figures are older than the last answer's end until the context thread has looked again.
  const auto left = idle ? service.Flush() : Result<size_t>(service.stats().unsaved_bytes);
  const SchedulerStats stats = service.stats();
  const uint64_t unsaved_bytes = left.value_or(stats.unsaved_bytes) + stats.saved.unsynced_bytes;
  // A disk that refuses writes is not waited for.
  const bool saved = left.has_value() && (unsaved_bytes == 0 || stats.saved.refusing);
  return ToText({{"draining", state.draining},
                 {"stopping", state.stopping},
                 {"drained", idle && saved},
                 {"requests", state.requests},
                 {"unsaved_bytes", unsaved_bytes}});
}

}  // namespace cairn
