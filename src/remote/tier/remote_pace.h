// MeasuredPace: how fast the remote store answers, from the calls so far; recent ones weigh more.
//
// Threads: any.

#ifndef CAIRN_REMOTE_TIER_REMOTE_PACE_H_
#define CAIRN_REMOTE_TIER_REMOTE_PACE_H_

#include <cstdint>
#include <mutex>

namespace cairn {

class MeasuredPace {
 public:
  // Before anything was measured, a network of 1 Gbit/s is assumed.
  static constexpr double kAssumedBytesPerMs = 100e3;

  void AddTransfer(uint64_t bytes, double ms) {
    // Small objects measure the round trip and not the speed.
    if (bytes < kBytesMin || ms <= 0) return;
    const std::lock_guard lock(mutex_);
    bytes_per_ms_ += kWeight * (static_cast<double>(bytes) / ms - bytes_per_ms_);
  }
  void AddRoundTrip(double ms) {
    const std::lock_guard lock(mutex_);
    round_trip_ms_ += kWeight * (ms - round_trip_ms_);
  }
  double bytes_per_ms() const {
    const std::lock_guard lock(mutex_);
    return bytes_per_ms_;
  }
  double round_trip_ms() const {
    const std::lock_guard lock(mutex_);
    return round_trip_ms_;
  }

 private:
  static constexpr uint64_t kBytesMin = uint64_t{256} << 10;
  static constexpr double kWeight = 0.3;

  mutable std::mutex mutex_;
  double bytes_per_ms_ = kAssumedBytesPerMs;
  double round_trip_ms_ = 1;
};

}  // namespace cairn

#endif  // CAIRN_REMOTE_TIER_REMOTE_PACE_H_
