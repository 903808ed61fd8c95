// RemoteTierOptions: the settings of the remote tier. The command line sets them
// (cmd/serve/remote/remote_flags.h).
//
// Plain data.

#ifndef CAIRN_FLEET_REMOTE_TIER_REMOTE_SHARED_H_
#define CAIRN_FLEET_REMOTE_TIER_REMOTE_SHARED_H_

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>

#include "base/clock.h"
#include "base/fs.h"
#include "base/log.h"
#include "base/mutex.h"
#include "base/process/trace_events.h"
#include "fleet/remote/remote_names.h"
#include "fleet/remote/remote_objects.h"
#include "store/object.h"

namespace cairn {

struct RemoteTierOptions {
  // All of these outlive the tier; `trace` may be null.
  RemoteObjects* objects = nullptr;
  RemoteIndex* index = nullptr;
  Fs* fs = nullptr;
  const Clock* clock = nullptr;
  TraceEvents* trace = nullptr;

  std::string folder;  // of the disk store
  uint64_t folder_bytes_max = 0;
  uint64_t reserve_bytes = 0;  // as in DiskStoreOptions
  Fingerprint fingerprint;
  std::string identity;  // the text that the fingerprint is the hash of; empty if not known
  RemoteKeys keys = RemoteKeys::Plain();

  double wait_ms = 50;        // the longest wait for a lookup
  double saved_ms_min = 500;  // a fetch must save at least this much prefill
  double after_ms = 30'000;   // how long a conversation is idle before it is uploaded
  uint64_t write_bytes_per_s = uint64_t{16} << 20;  // 0: no limit
  int64_t ttl_s = 24 * 3600;
  bool read_only = false;
  // Threads that look up and fetch; one more uploads. 0: there are none, and RemoteTier::Work does
  // their work.
  size_t threads = 4;

  // Has the disk store report a file of the folder now (DiskStore::Adopt).
  std::function<bool(const ObjectName& name, double ms_max)> adopt;
  // Called on the tier's threads when a lookup or a fetch has ended.
  std::function<void()> wake;
  std::function<int64_t()> now_s;  // wall clock, seconds since 1970
  LogSink log;
};

// How long after its last entry a used object is listed anew.
inline double RefreshMs(const RemoteTierOptions& options) {
  return static_cast<double>(options.ttl_s) * 1000 / 4;
}

// Counters since the start, and the present state.
struct RemoteStats {
  uint64_t lookups = 0;
  uint64_t hits = 0;      // lookups that found something worth fetching
  uint64_t too_slow = 0;  // lookups and fetches that took longer than a request waits
  uint64_t fetched = 0;
  uint64_t fetched_bytes = 0;
  double fetch_ms = 0;
  uint64_t uploaded = 0;
  uint64_t uploaded_bytes = 0;
  uint64_t corrupt = 0;  // objects and entries that were not what they claimed to be
  uint64_t stale = 0;    // entries whose object is gone
  uint64_t failures = 0;
  uint64_t to_upload = 0;  // objects that may be uploaded
  bool open = false;       // a store does not answer, and is left alone
  bool refusing = false;   // a store takes no more
};

// MeasuredPace: how fast the remote store answers, from the calls so far; recent ones weigh more.
// A slow store is not asked, so nothing would measure it again: a speed below the assumed one
// doubles every 20 seconds until there is a new measurement.
//
// Threads: any. Times are milliseconds of the caller's clock.
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

// RemoteKnown: the objects that this process knows to be in the remote store, because it uploaded
// or fetched them. It spares uploads, and finds the segments that others need.
//
// Threads: any.
struct KnownRemote {
  RemoteEntry entry;
  ObjectName parent;        // as the entry's
  bool is_short = false;    // it has no whole block, so the index lists it with those that need it
  double refreshed_ms = 0;  // when its entries were written last
};

class RemoteKnown {
 public:
  // When more are known, all are forgotten: they are uploaded again at most once.
  static constexpr size_t kObjectsMax = 50'000;

  void Put(const ObjectName& name, const KnownRemote& known) {
    const MutexLock lock(mutex_);
    if (objects_.size() >= kObjectsMax) objects_.clear();
    objects_[name] = known;
  }
  std::optional<KnownRemote> Find(const ObjectName& name) const {
    const MutexLock lock(mutex_);
    const auto found = objects_.find(name);
    if (found == objects_.end()) return std::nullopt;
    return found->second;
  }
  void Erase(const ObjectName& name) {
    const MutexLock lock(mutex_);
    objects_.erase(name);
  }

 private:
  mutable Mutex mutex_;
  std::map<ObjectName, KnownRemote> objects_ GUARDED_BY(mutex_);
};

}  // namespace cairn

#endif  // CAIRN_FLEET_REMOTE_TIER_REMOTE_SHARED_H_
