// RemoteFetcher: looks a prompt up in the index, and brings an object of the remote store into the
// folder, checked. Every failure is a miss.
//
//   Find: block keys ─> index ─> plan (fleet/remote/tier/remote_plan.h)
//   Fetch: object ─> unsealed ─> checked ─> file in the folder ─> adopted by the disk store
//
// Threads: any; calls block.

#ifndef CAIRN_FLEET_REMOTE_TIER_REMOTE_FETCHER_H_
#define CAIRN_FLEET_REMOTE_TIER_REMOTE_FETCHER_H_

#include <atomic>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/mutex.h"
#include "fleet/remote/tier/breaker.h"
#include "fleet/remote/tier/remote_plan.h"
#include "fleet/remote/tier/remote_shared.h"

namespace cairn {

class RemoteFetcher {
 public:
  // All arguments outlive it.
  RemoteFetcher(const RemoteTierOptions* options, Breaker* index_breaker, Breaker* objects_breaker,
                RemoteKnown* known)
      : options_(options),
        index_breaker_(index_breaker),
        objects_breaker_(objects_breaker),
        known_(known) {}

  // Returns an empty plan if nothing is worth fetching, or the index fails.
  RemotePlan Find(const RemoteAsk& ask);
  // Returns whether the object is in the folder now and the disk store has reported it.
  bool Fetch(const RemoteAsk& ask, const RemoteItem& item);

  // Fills in the figures of lookups and fetches.
  void AddTo(RemoteStats* stats) const;
  // Counts a lookup or a fetch that a request did not wait for to the end.
  void CountTooSlow() { ++too_slow_; }
  // Notes that fetches of so many bytes had not ended after `ms`, so that the next request is not
  // made to wait for them too.
  void NoteUnfinished(uint64_t bytes, double ms) {
    pace_.AddUnfinished(bytes, ms, options_->clock->NowMs());
  }
  RemotePace pace() const {
    return {pace_.bytes_per_ms(options_->clock->NowMs()), pace_.round_trip_ms(),
            options_->saved_ms_min};
  }

 private:
  // The names of each key.
  std::vector<RemoteNames> NamesOf(const RemoteAsk& ask) const;
  RemotePlanner::Place PlaceOf(const RemoteItem& item);
  Result<Bytes> Get(const RemoteAsk& ask, const RemoteItem& item, const std::string& path);
  // Checks everything that the index and the object claim.
  Result<ObjectHeader> Check(const RemoteAsk& ask, const RemoteItem& item, ByteSpan file) const;
  Status WriteToFolder(const ObjectHeader& header, ByteSpan file) const;
  // The object is of no use: it is not fetched again for a while, and its entry goes.
  void Reject(const RemoteItem& item, ErrorCode why);
  void LogOnce(const std::string& line);

  const RemoteTierOptions* const options_;
  Breaker* const index_breaker_;
  Breaker* const objects_breaker_;
  RemoteKnown* const known_;
  MeasuredPace pace_;

  std::atomic<uint64_t> lookups_{0};
  std::atomic<uint64_t> hits_{0};
  std::atomic<uint64_t> too_slow_{0};
  std::atomic<uint64_t> fetched_{0};
  std::atomic<uint64_t> fetched_bytes_{0};
  std::atomic<uint64_t> fetch_us_{0};
  std::atomic<uint64_t> corrupt_{0};
  std::atomic<uint64_t> stale_{0};

  Mutex mutex_;
  std::map<RemoteId, double> useless_until_ms_ GUARDED_BY(mutex_);
  // By the deepest index key of a prompt.
  std::map<std::string, double> missed_until_ms_ GUARDED_BY(mutex_);
  double logged_ms_ GUARDED_BY(mutex_) = -1e9;
};

}  // namespace cairn

#endif  // CAIRN_FLEET_REMOTE_TIER_REMOTE_FETCHER_H_
