// RemoteTierOptions: the settings of the remote tier. The command line sets them
// (cmd/serve/remote/remote_flags.h).
//
// Plain data.

#ifndef CAIRN_FLEET_REMOTE_TIER_REMOTE_OPTIONS_H_
#define CAIRN_FLEET_REMOTE_TIER_REMOTE_OPTIONS_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

#include "base/clock.h"
#include "base/fs.h"
#include "base/log.h"
#include "base/process/trace_events.h"
#include "fleet/remote/remote_index.h"
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

}  // namespace cairn

#endif  // CAIRN_FLEET_REMOTE_TIER_REMOTE_OPTIONS_H_
