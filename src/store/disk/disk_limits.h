// How much the disk store may hold (DiskBudget) and write (WriteLimit), and what it counts and logs
// when its folder fails (DiskTrouble).
//
// Threads: one at a time, but for DiskTrouble.

#ifndef CAIRN_STORE_DISK_DISK_LIMITS_H_
#define CAIRN_STORE_DISK_DISK_LIMITS_H_

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>

#include "base/fs.h"
#include "base/log.h"
#include "base/mutex.h"
#include "base/result.h"

namespace cairn {

// The budget of the store's folder: what the user named, or what fits the device. The latter is
// chosen once, when the folder was first looked at, and shrinks while other files fill the device.
class DiskBudget {
 public:
  // The budget of a device that cannot be looked at, and the least where that leaves a fifth of the
  // device free.
  static constexpr uint64_t kUsualBytes = uint64_t{32} << 30;

  // `bytes_max`: what the user named; nullopt to fit the device.
  explicit DiskBudget(std::optional<uint64_t> bytes_max)
      : fits_device_(!bytes_max), bytes_max_(bytes_max.value_or(kUsualBytes)) {}

  // A tenth of `room_bytes`, or kUsualBytes where that is more and leaves a fifth of the device
  // free. `room_bytes` is what is free without the folder's own files.
  static uint64_t Fitting(uint64_t room_bytes, uint64_t device_bytes) {
    const bool usual_fits = room_bytes >= kUsualBytes + device_bytes / 5;
    return std::max(room_bytes / 10, usual_fits ? kUsualBytes : 0);
  }

  bool fits_device() const { return fits_device_; }
  // Chooses the budget at the first call. From then on it is that, but never more than half of the
  // room: others get as much of the device as the folder.
  void LookAt(const DeviceSpace& space, uint64_t folder_bytes);
  uint64_t bytes_max() const { return bytes_max_; }
  // Whether other files leave less than what was chosen.
  bool is_shrunk() const { return chosen_bytes_ && bytes_max_ < *chosen_bytes_; }

 private:
  const bool fits_device_;
  std::optional<uint64_t> chosen_bytes_;
  uint64_t bytes_max_;
};

inline constexpr int64_t kNsPerHour = int64_t{3600} * 1'000'000'000;

// Counts the bytes that were written in the last 24 hours, by the hour, and says when a limit of a
// day is reached: flash memory wears with what is written to it. It begins anew with the process.
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

inline void DiskBudget::LookAt(const DeviceSpace& space, uint64_t folder_bytes) {
  if (!fits_device_) return;
  const uint64_t room_bytes = std::min(space.free_bytes, UINT64_MAX - folder_bytes) + folder_bytes;
  if (!chosen_bytes_) chosen_bytes_ = Fitting(room_bytes, space.size_bytes);
  bytes_max_ = std::min(*chosen_bytes_, room_bytes / 2);
}

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

// DiskTrouble: counts the failures of the disk store's folder and logs them with a remedy. After a
// message it stays silent for one minute, then two, four and so on up to an hour, so that a failing
// disk does not flood the log. It also logs when writing works again.
//
// Threads: any.
class DiskTrouble {
 public:
  struct Counts {
    uint64_t corrupt = 0;
    uint64_t errors = 0;
  };

  // `now_ns` as in DiskStoreOptions.
  DiskTrouble(std::function<int64_t()> now_ns, LogSink log);

  // Counts kCorrupt as corrupt and all other codes as errors. Ignores kNotFound, as a file may
  // disappear at any time.
  void Note(const Error& error);
  // Records a successful write, which ends the failure.
  void NoteWritten();
  Counts counts() const;

 private:
  // Whether logging is suppressed after the last message.
  bool IsQuietAt(int64_t now_ns) const REQUIRES(mutex_);

  const std::function<int64_t()> now_ns_;
  const LogSink log_;
  mutable Mutex mutex_;
  Counts counts_ GUARDED_BY(mutex_);
  std::optional<int64_t> said_ns_ GUARDED_BY(mutex_);
  int64_t quiet_ns_ GUARDED_BY(mutex_) = 0;  // counted from said_ns_
  uint64_t unsaid_ GUARDED_BY(mutex_) = 0;
  // A complaint was logged and nothing was written since.
  bool complained_ GUARDED_BY(mutex_) = false;
};

}  // namespace cairn

#endif  // CAIRN_STORE_DISK_DISK_LIMITS_H_
