#include "store/disk_trouble.h"

#include <string>
#include <utility>

namespace cairn {
namespace {

constexpr int64_t kQuietNs = int64_t{60} * 1'000'000'000;

}  // namespace

DiskTrouble::DiskTrouble(std::function<int64_t()> now_ns, LogSink log)
    : now_ns_(std::move(now_ns)), log_(std::move(log)) {}

void DiskTrouble::Note(const Error& error) {
  if (error.code == ErrorCode::kNotFound) return;
  const int64_t now_ns = now_ns_();
  std::string line = "disk cache: " + error.message;
  {
    const std::lock_guard<std::mutex> guard(mutex_);
    ++(error.code == ErrorCode::kCorrupt ? counts_.corrupt : counts_.errors);
    // A clock that was set back must not silence us for as long.
    if (said_ns_ && now_ns >= *said_ns_ && now_ns - *said_ns_ < kQuietNs) {
      ++unsaid_;
      return;
    }
    if (unsaid_ > 0) line += " (and " + std::to_string(unsaid_) + " more before it)";
    said_ns_ = now_ns;
    unsaid_ = 0;
  }
  if (log_) log_(LogLevel::kWarning, line);
}

DiskTrouble::Counts DiskTrouble::counts() const {
  const std::lock_guard<std::mutex> guard(mutex_);
  return counts_;
}

}  // namespace cairn
