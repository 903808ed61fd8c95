// RemoteTier: the remote store behind the folder of the disk store, as that folder stands behind
// memory. It brings other servers' states into the folder while their requests wait, and uploads
// what other servers may need.
//
//   context thread   Begin ─> ticket ─> StateOf, StateOf … kDone ─> End      never waits
//                       │                               ^
//   remote threads      Find in the index ─> Fetch ─────┘  into the folder, adopted by DiskStore
//   upload thread       UploadQueue ─> Upload              out of the folder
//   disk I/O thread     Written, Used
//
// No failure of a remote store reaches a request: it is counted, and a miss.
//
// Threads: any. Begin, StateOf, End, Written and Used return at once.

#ifndef CAIRN_FLEET_REMOTE_TIER_REMOTE_TIER_H_
#define CAIRN_FLEET_REMOTE_TIER_REMOTE_TIER_H_

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include "base/mutex.h"
#include "fleet/remote/tier/breaker.h"
#include "fleet/remote/tier/remote_fetcher.h"
#include "fleet/remote/tier/remote_plan.h"
#include "fleet/remote/tier/remote_shared.h"
#include "fleet/remote/tier/remote_uploader.h"

namespace cairn {

class RemoteTier {
 public:
  using Ticket = uint64_t;
  enum class State {
    kLooking,   // in the index
    kFetching,  // something that is worth waiting for
    kDone,
  };

  explicit RemoteTier(RemoteTierOptions options);
  // Stops without waiting for uploads; see Drain. Cancels calls to the stores.
  ~RemoteTier();
  RemoteTier(const RemoteTier&) = delete;
  RemoteTier& operator=(const RemoteTier&) = delete;

  // Returns 0 if there is nothing to wait for: too few tokens are left to prefill, or the index
  // does not answer.
  Ticket Begin(RemoteAsk ask);
  // kDone also when it takes longer than a request should wait, and for tickets that have ended.
  State StateOf(Ticket ticket);
  // A fetch that is under way goes on, for the next request.
  void End(Ticket ticket);

  // The disk store has written an object, or one was used.
  void Written(const ObjectHeader& header);
  void Used(const ObjectName& name);
  // While draining, the upload thread uploads at once all that is worth it, without a budget.
  void SetDraining(bool draining);
  // Drains, for at most `ms_max`. Returns false if something was left.
  bool Drain(double ms_max);
  // Lets the threads end after their present calls. From then on all lookups are misses.
  void Stop();

  RemoteStats stats() const;

  // Without threads: does one piece of their work. Returns false if there is none now.
  bool Work();

 private:
  // One fetch of an object, for all the requests that need it.
  struct FetchJob {
    std::shared_ptr<const RemoteAsk> ask;
    RemoteItem item;
    bool running = false;
  };
  struct Lookup {
    std::shared_ptr<const RemoteAsk> ask;
    State state = State::kLooking;
    double begin_ms = 0;                 // of this state
    double wait_ms = 0;                  // how long this state may last
    uint64_t fetch_bytes = 0;            // of all that is fetched for it
    std::vector<RemoteId> missing = {};  // being fetched
    // No request waits for it: it shows whether the index answers again.
    bool probes = false;
  };

  void Run();
  void RunUploads();
  // False if there is nothing to do.
  bool LookNext() EXCLUDES(mutex_);
  bool FetchNext() EXCLUDES(mutex_);
  FetchJob JobOf(const RemoteId& id) const EXCLUDES(mutex_);
  // Returns how long to wait before the next upload; nullopt if nothing was due.
  std::optional<double> UploadNext(bool all) EXCLUDES(mutex_);
  void StartFetches(Lookup* lookup, RemotePlan plan) REQUIRES(mutex_);
  void OnFetched(const RemoteId& id, bool good) REQUIRES(mutex_);
  bool IsWanted(const RemoteId& id) const REQUIRES(mutex_);
  bool IsDraining() const REQUIRES(mutex_) { return draining_ || drain_waits_; }

  const RemoteTierOptions options_;
  Breaker index_breaker_;
  Breaker objects_breaker_;
  RemoteKnown known_;
  RemoteFetcher fetcher_;
  RemoteUploader uploader_;

  mutable Mutex mutex_;
  CondVar work_;
  CondVar uploads_;
  bool stopped_ GUARDED_BY(mutex_) = false;
  bool draining_ GUARDED_BY(mutex_) = false;
  bool drain_waits_ GUARDED_BY(mutex_) = false;  // in Drain
  bool drained_ GUARDED_BY(mutex_) = false;      // since Drain was called, nothing was left
  bool uploading_ GUARDED_BY(mutex_) = false;
  uint64_t written_ GUARDED_BY(mutex_) = 0;  // calls of Written
  Ticket last_ticket_ GUARDED_BY(mutex_) = 0;
  std::map<Ticket, Lookup> lookups_ GUARDED_BY(mutex_);
  std::deque<Ticket> to_look_ GUARDED_BY(mutex_);
  std::deque<RemoteId> to_fetch_ GUARDED_BY(mutex_);
  std::map<RemoteId, FetchJob> fetches_ GUARDED_BY(mutex_);
  UploadQueue queue_ GUARDED_BY(mutex_);

  std::vector<std::thread> threads_;  // last: they use the members above
};

}  // namespace cairn

#endif  // CAIRN_FLEET_REMOTE_TIER_REMOTE_TIER_H_
