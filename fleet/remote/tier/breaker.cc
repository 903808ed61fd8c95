#include "fleet/remote/tier/breaker.h"

#include <algorithm>
#include <utility>

namespace cairn {
namespace {

constexpr size_t kFailuresMax = 3;
constexpr double kFailuresWithinMs = 10'000;
constexpr double kOpenMsMin = 5'000;
constexpr double kOpenMsMax = 60'000;
constexpr double kRefusedMs = 60'000;

}  // namespace

Breaker::Breaker(std::string what, const Clock* clock, LogSink log)
    : what_(std::move(what)), clock_(clock), log_(std::move(log)) {}

bool Breaker::Allows() {
  const MutexLock lock(mutex_);
  if (open_ms_ == 0) return true;
  const double now_ms = clock_->NowMs();
  if (now_ms < open_until_ms_) return false;
  // The others stay away until the result of this call is known.
  open_until_ms_ = now_ms + open_ms_;
  return true;
}

bool Breaker::AllowsWrite() {
  if (refusing()) return false;
  return Allows();
}

void Breaker::Note(const Status& status) {
  const MutexLock lock(mutex_);
  if (status) return NoteSuccess();
  switch (status.error().code) {
    case ErrorCode::kNotFound:
    case ErrorCode::kCorrupt:
    case ErrorCode::kUnsupported:
      return NoteSuccess();
    case ErrorCode::kNoSpace:
      ++failures_;
      if (log_ && clock_->NowMs() >= refused_until_ms_) {
        log_(LogLevel::kWarning,
             what_ + " takes no more: " + status.error().message + "; trying again in a minute");
      }
      refused_until_ms_ = clock_->NowMs() + kRefusedMs;
      return;
    default:
      return NoteFailure(status.error());
  }
}

void Breaker::NoteFailure(const Error& error) {
  ++failures_;
  const double now_ms = clock_->NowMs();
  failed_ms_.push_back(now_ms);
  while (failed_ms_.size() > kFailuresMax) failed_ms_.pop_front();
  const bool often =
      failed_ms_.size() == kFailuresMax && now_ms - failed_ms_.front() <= kFailuresWithinMs;
  // While it is open, the one call that it let through has failed.
  if (open_ms_ == 0 && !often) return;
  open_ms_ = open_ms_ == 0 ? kOpenMsMin : std::min(2 * open_ms_, kOpenMsMax);
  open_until_ms_ = now_ms + open_ms_;
  if (!log_) return;
  log_(LogLevel::kWarning, what_ + " fails: " + error.message +
                               "; requests go on without it, next try in " +
                               std::to_string(static_cast<int>(open_ms_ / 1000)) + " s");
}

void Breaker::NoteSuccess() {
  failed_ms_.clear();
  if (open_ms_ == 0) return;
  open_ms_ = open_until_ms_ = 0;
  if (log_) log_(LogLevel::kInfo, what_ + " answers again");
}

bool Breaker::open() const {
  const MutexLock lock(mutex_);
  return open_ms_ > 0;
}

bool Breaker::refusing() const {
  const MutexLock lock(mutex_);
  return clock_->NowMs() < refused_until_ms_;
}

uint64_t Breaker::failures() const {
  const MutexLock lock(mutex_);
  return failures_;
}

}  // namespace cairn
