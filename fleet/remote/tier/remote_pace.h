// MeasuredPace: how fast the remote store answers, from the calls so far; recent ones weigh more.
// A slow store is not asked, so nothing would measure it again: a speed below the assumed one
// doubles every 20 seconds until there is a new measurement.
//
// Threads: any. Times are milliseconds of the caller's clock.

#ifndef CAIRN_FLEET_REMOTE_TIER_REMOTE_PACE_H_
#define CAIRN_FLEET_REMOTE_TIER_REMOTE_PACE_H_

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "base/mutex.h"

namespace cairn {

class MeasuredPace {
 public:
  // Before anything was measured, a network of 1 Gbit/s is assumed.
  static constexpr double kAssumedBytesPerMs = 100e3;

  void AddTransfer(uint64_t bytes, double ms, double now_ms) {
    if (!Measures(bytes, ms)) return;
    const MutexLock lock(mutex_);
    const double before = At(now_ms);
    Set(before + kWeight * (static_cast<double>(bytes) / ms - before), now_ms);
  }
  // A transfer of so many bytes had not ended after `ms`.
  void AddUnfinished(uint64_t bytes, double ms, double now_ms) {
    if (!Measures(bytes, ms)) return;
    const MutexLock lock(mutex_);
    Set(std::min(At(now_ms), static_cast<double>(bytes) / ms), now_ms);
  }
  void AddRoundTrip(double ms) {
    const MutexLock lock(mutex_);
    round_trip_ms_ += kWeight * (ms - round_trip_ms_);
  }
  double bytes_per_ms(double now_ms) const {
    const MutexLock lock(mutex_);
    return At(now_ms);
  }
  double round_trip_ms() const {
    const MutexLock lock(mutex_);
    return round_trip_ms_;
  }

 private:
  static constexpr uint64_t kBytesMin = uint64_t{256} << 10;
  static constexpr double kWeight = 0.3;
  static constexpr double kDoubleMs = 20'000;

  // Small objects measure the round trip and not the speed.
  static bool Measures(uint64_t bytes, double ms) { return bytes >= kBytesMin && ms > 0; }

  double At(double now_ms) const REQUIRES(mutex_) {
    if (bytes_per_ms_ >= kAssumedBytesPerMs) return bytes_per_ms_;
    const double grown = bytes_per_ms_ * std::exp2((now_ms - measured_ms_) / kDoubleMs);
    return std::min(grown, kAssumedBytesPerMs);
  }
  void Set(double bytes_per_ms, double now_ms) REQUIRES(mutex_) {
    bytes_per_ms_ = bytes_per_ms;
    measured_ms_ = now_ms;
  }

  mutable Mutex mutex_;
  double bytes_per_ms_ GUARDED_BY(mutex_) = kAssumedBytesPerMs;
  double measured_ms_ GUARDED_BY(mutex_) = 0;
  double round_trip_ms_ GUARDED_BY(mutex_) = 1;
};

}  // namespace cairn

#endif  // CAIRN_FLEET_REMOTE_TIER_REMOTE_PACE_H_
