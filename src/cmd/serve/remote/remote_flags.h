// The flags of the remote tier, and the connections that they describe. `cairn serve` and `cairn
// cache` share them.

#ifndef CAIRN_CMD_SERVE_REMOTE_REMOTE_FLAGS_H_
#define CAIRN_CMD_SERVE_REMOTE_REMOTE_FLAGS_H_

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "base/clock.h"
#include "base/log.h"
#include "base/process/trace_events.h"
#include "base/result.h"
#include "cmd/lib/cache_folder.h"
#include "cmd/serve/base/disk_cache.h"
#include "cmd/serve/base/serve_options.h"
#include "fleet/remote/remote_names.h"
#include "fleet/remote/remote_objects.h"
#include "fleet/remote/tier/remote_tier.h"
#include "fleet/remote/valkey/valkey_client.h"
#include "sched/request/remote_lookup.h"

namespace CLI {
class App;
}

namespace cairn {

// Adds the flags that say where the store is and how it is protected.
void AddRemoteStoreFlags(CLI::App* command, RemoteFlagValues* values);
// Adds those that say what is fetched and uploaded.
void AddRemoteTierFlags(CLI::App* command, RemoteFlagValues* values);

// The stores of the flags. Nothing is connected before it is used.
struct RemoteStores {
  RemoteKeys keys = RemoteKeys::Plain();
  // For the log; without secrets.
  std::string place;
  std::unique_ptr<ValkeyClient> objects_client;  // each null if not needed
  std::unique_ptr<ValkeyClient> index_client;
  std::unique_ptr<RemoteObjects> objects;
  std::unique_ptr<RemoteIndex> index;
};

// Reads the files that the flags name. kInvalidArgument if the flags do not fit one another, or a
// file is not what it should be. The message says what to do and contains no secret.
Result<RemoteStores> OpenRemoteStores(const RemoteFlagValues& values);

// ServedRemote: the remote tier of `cairn serve`, created from the flags. Without --remote all its
// functions do nothing.

// TierLookup: the scheduler's view of a RemoteTier.
//
// Threads: as RemoteLookup says.
class TierLookup final : public RemoteLookup {
 public:
  // `tier` outlives it.
  explicit TierLookup(RemoteTier* tier) : tier_(tier) {}

  Ticket Begin(Ask ask) override {
    return tier_->Begin({ask.name_space, std::move(ask.tokens), ask.reach_tokens,
                         ask.prefill_ms_per_token, ask.needs_snapshots, ask.snapshots_need_kv,
                         ask.kv_bytes_per_token, ask.snapshot_bytes});
  }
  State StateOf(Ticket ticket) override {
    switch (tier_->StateOf(ticket)) {
      case RemoteTier::State::kLooking:
        return State::kLooking;
      case RemoteTier::State::kFetching:
        return State::kFetching;
      case RemoteTier::State::kDone:
        return State::kDone;
    }
    return State::kDone;
  }
  void End(Ticket ticket) override { tier_->End(ticket); }
  void SetDraining(bool draining) override { tier_->SetDraining(draining); }
  RemoteFigures figures() const override {
    const RemoteStats stats = tier_->stats();
    RemoteFigures figures;
    figures.on = true;
    figures.lookups = stats.lookups;
    figures.hits = stats.hits;
    figures.too_slow = stats.too_slow;
    figures.fetched = stats.fetched;
    figures.fetched_bytes = stats.fetched_bytes;
    figures.fetch_ms = stats.fetch_ms;
    figures.uploaded = stats.uploaded;
    figures.uploaded_bytes = stats.uploaded_bytes;
    figures.corrupt = stats.corrupt;
    figures.stale = stats.stale;
    figures.failures = stats.failures;
    figures.to_upload = stats.to_upload;
    figures.open = stats.open;
    figures.refusing = stats.refusing;
    return figures;
  }

 private:
  RemoteTier* const tier_;
};

class ServedRemote {
 public:
  // Reads the files that the flags name. Connects to nothing. kInvalidArgument if the flags do not
  // fit one another or there is no disk tier.
  Status Open(const ServeOptions& options, LogSink log);
  // Has the disk store tell the tier what is written and used. Call before it is opened.
  void Watch(DiskCallbacks* callbacks);
  // Starts the tier's threads. `disk` and `clock` outlive this object, `wake` its threads.
  void Start(const ServeOptions& options, const DiskCache& disk, const Clock* clock,
             std::function<void()> wake, TraceEvents* trace);
  // nullptr without a tier.
  RemoteLookup* lookup() const { return lookup_.get(); }
  // Uploads what is worth it, for at most `ms_max`, and says so in the log.
  void Drain(double ms_max) const;

 private:
  LogSink log_;
  std::unique_ptr<RemoteStores> stores_;
  std::unique_ptr<RemoteTier> tier_;
  std::unique_ptr<TierLookup> lookup_;
  // Points to tier_. The disk's thread uses it, which may be running before there is a tier.
  std::atomic<RemoteTier*> started_{nullptr};
};

}  // namespace cairn

#endif  // CAIRN_CMD_SERVE_REMOTE_REMOTE_FLAGS_H_
