#include "store/disk/disk_limits.h"

#include <algorithm>
#include <string>
#include <utility>

namespace cairn {
namespace {

constexpr int64_t kQuietNsMin = int64_t{60} * 1'000'000'000;
constexpr int64_t kQuietNsMax = 60 * kQuietNsMin;

// Returns a remedy for the reader of the log.
std::string_view WhatToDo(ErrorCode code) {
  switch (code) {
    case ErrorCode::kNoSpace:
      return "; make room there, or name another --cache-dir. Until then nothing is saved; it is "
             "tried again every few seconds";
    case ErrorCode::kUnavailable:
      return "; let this user write there, or name another --cache-dir. Until then nothing is "
             "saved; it is tried again every few seconds";
    case ErrorCode::kCorrupt:
      return "; it is not used. `cairn cache verify` looks at all files";
    default:
      return "; the device may be failing. What cannot be saved or read is read by the model "
             "again; it is tried again every few seconds";
  }
}

}  // namespace

DiskTrouble::DiskTrouble(std::function<int64_t()> now_ns, LogSink log)
    : now_ns_(std::move(now_ns)), log_(std::move(log)) {}

bool DiskTrouble::IsQuietAt(int64_t now_ns) const {
  // A clock that was set back must not silence the log for that long.
  return said_ns_ && now_ns >= *said_ns_ && now_ns - *said_ns_ < quiet_ns_;
}

void DiskTrouble::Note(const Error& error) {
  if (error.code == ErrorCode::kNotFound) return;
  const int64_t now_ns = now_ns_();
  std::string line = "disk cache: " + error.message;
  {
    const MutexLock guard(mutex_);
    ++(error.code == ErrorCode::kCorrupt ? counts_.corrupt : counts_.errors);
    if (IsQuietAt(now_ns)) {
      ++unsaid_;
      return;
    }
    if (unsaid_ > 0) line += " (and " + std::to_string(unsaid_) + " more before it)";
    // After a pause twice as long as the quiet time the failure counts as a new one.
    const bool goes_on = said_ns_ && now_ns >= *said_ns_ && now_ns - *said_ns_ < 2 * quiet_ns_;
    quiet_ns_ = goes_on ? std::min(2 * quiet_ns_, kQuietNsMax) : kQuietNsMin;
    said_ns_ = now_ns;
    unsaid_ = 0;
    complained_ = complained_ || error.code != ErrorCode::kCorrupt;
  }
  line += WhatToDo(error.code);
  if (log_) log_(LogLevel::kWarning, line);
}

void DiskTrouble::NoteWritten() {
  {
    const MutexLock guard(mutex_);
    if (!std::exchange(complained_, false)) return;
  }
  if (log_) log_(LogLevel::kInfo, "disk cache: the folder takes files again");
}

DiskTrouble::Counts DiskTrouble::counts() const {
  const MutexLock guard(mutex_);
  return counts_;
}

}  // namespace cairn
