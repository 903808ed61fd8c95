// WriteLimit: counts the bytes that were written in the last 24 hours, by the hour, and says when a
// limit of a day is reached: flash memory wears with what is written to it. It begins anew with the
// process.
//
// Threads: one at a time.

#ifndef CAIRN_STORE_DISK_WRITE_LIMIT_H_
#define CAIRN_STORE_DISK_WRITE_LIMIT_H_

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

namespace cairn {

inline constexpr int64_t kNsPerHour = int64_t{3600} * 1'000'000'000;

class WriteLimit {
 public:
  // `day_bytes_max`: 0 for no limit.
  explicit WriteLimit(uint64_t day_bytes_max) : day_bytes_max_(day_bytes_max) {}

  // `now_ns`: nanoseconds since 1970. A clock that is set back counts as standing still.
  void Add(int64_t now_ns, uint64_t bytes);
  // The bytes of the hour of `now_ns` and of the 23 hours before.
  uint64_t LastDayBytes(int64_t now_ns) const;
  // Whether nothing more is to be written, with `queued_bytes` that will be.
  bool IsReached(int64_t now_ns, uint64_t queued_bytes) const {
    return day_bytes_max_ > 0 && LastDayBytes(now_ns) + queued_bytes >= day_bytes_max_;
  }

 private:
  static constexpr size_t kHours = 24;

  const uint64_t day_bytes_max_;
  int64_t last_hour_ = 0;                   // hours since 1970
  std::array<uint64_t, kHours> by_hour_{};  // at the hour modulo 24
};

inline void WriteLimit::Add(int64_t now_ns, uint64_t bytes) {
  const int64_t hour = std::max(now_ns / kNsPerHour, last_hour_);
  const int64_t passed = std::min<int64_t>(hour - last_hour_, kHours);
  for (int64_t i = 0; i < passed; ++i) by_hour_[static_cast<size_t>(hour - i) % kHours] = 0;
  last_hour_ = hour;
  by_hour_[static_cast<size_t>(hour) % kHours] += bytes;
}

inline uint64_t WriteLimit::LastDayBytes(int64_t now_ns) const {
  const int64_t hour = std::max(now_ns / kNsPerHour, last_hour_);
  uint64_t bytes = 0;
  for (int64_t of = hour - static_cast<int64_t>(kHours) + 1; of <= last_hour_; ++of) {
    if (of > last_hour_ - static_cast<int64_t>(kHours)) {
      bytes += by_hour_[static_cast<size_t>(of) % kHours];
    }
  }
  return bytes;
}

}  // namespace cairn

#endif  // CAIRN_STORE_DISK_WRITE_LIMIT_H_
