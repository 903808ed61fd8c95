#include "cmd/serve/remote/served_remote.h"

#include <chrono>
#include <string>
#include <utility>

#include "cmd/serve/base/key_flags.h"

namespace cairn {
namespace {

int64_t UnixS() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::seconds>(now).count();
}

}  // namespace

Status ServedRemote::Open(const ServeOptions& options, LogSink log) {
  log_ = std::move(log);
  const RemoteFlagValues& values = options.remote;
  if (values.url.empty()) {
    const bool named = !values.index_url.empty() || !values.key_file.empty();
    if (!named) return {};
    return Fail(ErrorCode::kInvalidArgument,
                "--remote-index and --remote-key-file have no use without --remote");
  }
  if (!KeepsOnDisk(options)) {
    return Fail(ErrorCode::kInvalidArgument,
                "--remote stands behind the disk tier, and there is none: give --cache-dir FOLDER, "
                "and neither --cache-disk 0 nor --cache-ram 0");
  }
  auto stores = OpenRemoteStores(values);
  if (!stores) return tl::unexpected(stores.error());
  stores_ = std::make_unique<RemoteStores>(std::move(*stores));
  for (const std::string& file :
       {values.key_file, values.credentials_file, values.index_credentials_file}) {
    if (file.empty() || !OthersCanRead(file)) continue;
    log_(LogLevel::kWarning, file + ": every user of this machine can read it; chmod 600 it");
  }
  return {};
}

void ServedRemote::Watch(DiskCallbacks* callbacks) {
  if (stores_ == nullptr) return;
  callbacks->on_written = [this](const ObjectHeader& header) {
    if (RemoteTier* const tier = started_.load(std::memory_order_acquire)) tier->Written(header);
  };
  callbacks->on_used = [this](const ObjectName& name) {
    if (RemoteTier* const tier = started_.load(std::memory_order_acquire)) tier->Used(name);
  };
}

void ServedRemote::Start(const ServeOptions& options, const DiskCache& disk, const Clock* clock,
                         std::function<void()> wake, TraceEvents* trace) {
  if (stores_ == nullptr || disk.store == nullptr) return;
  const RemoteFlagValues& values = options.remote;
  RemoteTierOptions tier;
  tier.objects = stores_->objects.get();
  tier.index = stores_->index.get();
  tier.fs = disk.fs.get();
  tier.clock = clock;
  tier.trace = trace;
  tier.folder = CacheFolderOf(options);
  tier.folder_bytes_max = disk.store->stats().bytes_max;
  tier.reserve_bytes = DiskStoreOptions{}.reserve_bytes;
  tier.fingerprint = disk.saved_as.fingerprint;
  tier.identity = disk.identity;
  tier.keys = stores_->keys;
  tier.wait_ms = values.wait_ms;
  tier.saved_ms_min = values.saved_ms_min;
  tier.after_ms = values.after_s * 1000;
  tier.write_bytes_per_s = uint64_t{values.write_mib_s} << 20;
  tier.ttl_s = static_cast<int64_t>(values.ttl_h * 3600);
  tier.read_only = values.read_only;
  tier.adopt = [store = disk.store.get()](const ObjectName& name, double ms_max) {
    return store->Adopt(name, ms_max);
  };
  tier.wake = std::move(wake);
  tier.now_s = UnixS;
  tier.log = log_;
  tier_ = std::make_unique<RemoteTier>(std::move(tier));
  lookup_ = std::make_unique<TierLookup>(tier_.get());
  started_.store(tier_.get(), std::memory_order_release);
  log_(LogLevel::kInfo, "remote tier: " + stores_->place +
                            (stores_->keys.seals() ? ", sealed" : ", not sealed") +
                            (values.read_only ? ", read only" : ""));
}

void ServedRemote::Drain(double ms_max) const {
  if (tier_ == nullptr) return;
  const bool all = tier_->Drain(ms_max);
  const RemoteStats stats = tier_->stats();
  log_(all ? LogLevel::kInfo : LogLevel::kWarning,
       std::string(all ? "uploaded to " : "not everything was uploaded to ") + stores_->place +
           ": " + std::to_string(stats.uploaded) + " objects, " +
           std::to_string(stats.uploaded_bytes >> 20) + " MiB since the start");
}

}  // namespace cairn
