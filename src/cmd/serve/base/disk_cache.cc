#include "cmd/serve/base/disk_cache.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <random>
#include <utility>

#include "cmd/lib/cache_folder.h"
#include "cmd/serve/base/cache_flags.h"
#include "store/codec/codec.h"
#include "store/disk/disk_files.h"
#include "store/folder/identity.h"

namespace cairn {
namespace {

constexpr double kGib = 1 << 30;

int64_t UnixNs() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::nanoseconds>(now).count();
}

// The same tokens cut elsewhere have other bits; `any` cuts everywhere.
Result<std::string> IdentityOf(const Engine& engine, ReuseMode reuse, const CutRules& cuts) {
  auto identity = engine.StateIdentity();
  if (!identity) return identity;
  if (reuse == ReuseMode::kAny) *identity += "cut=anywhere\n";
  // Neighbours may change the last bits of a state.
  const bool together = reuse == ReuseMode::kLive && engine.traits().chunks_together;
  if (together) *identity += "prefill=together\n";
  Tokens starts = cuts.message_starts;
  std::sort(starts.begin(), starts.end());
  for (const Token start : starts) *identity += "cut_behind=" + std::to_string(start) + "\n";
  if (!starts.empty() && cuts.gap_divisor > 0) {
    *identity += "cut_gap=position/" + std::to_string(cuts.gap_divisor) + "\n";
  }
  return identity;
}

// Writes a small file and removes it.
Status TryFolder(Fs* fs, const std::string& folder) {
  const std::string name = std::string(kTempPrefix) + "trial-" + std::to_string(getpid());
  Status written = PutFile(fs, folder, name, BytesOf("trial"));
  if (written) {
    static_cast<void>(fs->Remove(folder + "/" + name));
  } else if (written.error().code == ErrorCode::kNotFound) {
    written.error().code = ErrorCode::kUnavailable;  // a part of the path is a file
  }
  return written;
}

void TrySlotFolder(Fs* fs, const std::string& folder, const LogSink& log) {
  if (folder.empty() || !log) return;
  const Status taken = TryFolder(fs, folder);
  if (taken) return;
  log(LogLevel::kWarning, "--slot-save-path " + taken.error().message +
                              "; let this user write there, or name another folder. Until then no "
                              "slot can be saved");
}

}  // namespace

std::vector<std::pair<NamespaceId, uint64_t>> NameSpacesOf(const ApiKeys& keys) {
  std::vector<std::pair<NamespaceId, uint64_t>> name_spaces = {{0, 0}};
  for (const ApiKeys::Known& key : keys.known()) {
    name_spaces.emplace_back(key.number, key.saved_name);
  }
  return name_spaces;
}

std::string CacheFolderOf(const ServeOptions& options) {
  return options.cache_folder.empty() ? DefaultCacheFolder() : options.cache_folder;
}

bool KeepsOnDisk(const ServeOptions& options) {
  return options.cache_disk_gib.value_or(1) > 0 && StoresCheckpoints(options);
}

Result<Codec> CodecOf(const ServeOptions& options) {
  auto codec = ParseCodec(options.codec);
  if (!codec) return Fail(codec.error().code, "--codec: " + codec.error().message);
  return codec;
}

Result<DiskCache> OpenDiskCache(const ServeOptions& options, const ApiKeys& keys, Engine* engine,
                                ReuseMode reuse, const CutRules& cuts, DiskCallbacks callbacks) {
  DiskCache cache;
  const auto codec = CodecOf(options);
  if (!codec) return tl::unexpected(codec.error());
  const bool keeps = KeepsOnDisk(options);
  if (!keeps && options.slot_save_path.empty()) return cache;
  cache.codec = *codec;
  const auto identity = IdentityOf(*engine, reuse, cuts);
  if (!identity) return tl::unexpected(identity.error());
  cache.identity = *identity;
  cache.saved_as.fingerprint = FingerprintOf(*identity);
  cache.saved_as.name_spaces = SavedNames(NameSpacesOf(keys));
  const std::string model_folder =
      CacheFolderOf(options) + "/" + ToText(cache.saved_as.fingerprint);
  auto fs = MakeCacheFs(options.cache_key_file, {false, model_folder});
  if (!fs) return tl::unexpected(fs.error());
  cache.fs = *std::move(fs);
  cache.slot_files.folder = options.slot_save_path;
  cache.slot_files.saved_as = cache.saved_as;
  cache.slot_files.codec = cache.codec;
  cache.slot_files.needs_snapshots = engine->traits().NeedsSnapshots();
  if (callbacks.tries_folders) TrySlotFolder(cache.fs.get(), options.slot_save_path, callbacks.log);
  if (!keeps) return cache;
  DiskStoreOptions disk;
  disk.folder = CacheFolderOf(options);
  disk.fingerprint = cache.saved_as.fingerprint;
  if (const auto gib = options.cache_disk_gib) disk.bytes_max = static_cast<uint64_t>(*gib * kGib);
  // Objects queued for a slow disk take memory too, and are useless if the folder cannot take them.
  disk.queue_bytes_max = std::min({disk.queue_bytes_max, disk.bytes_max.value_or(UINT64_MAX),
                                   uint64_t{CacheRamBytes(options)}});
  disk.write_bytes_per_s = uint64_t{options.disk_write_mib_s} << 20;
  disk.day_bytes_max = static_cast<uint64_t>(options.disk_write_gib_day * kGib);
  disk.codec = cache.codec;
  disk.now_ns = UnixNs;
  disk.wake = std::move(callbacks.wake);
  disk.on_written = std::move(callbacks.on_written);
  disk.on_used = std::move(callbacks.on_used);
  disk.log = std::move(callbacks.log);
  disk.trace = callbacks.trace;
  // For people who look into the folder, so without a seal. If it cannot be written, the store
  // reports the error.
  static_cast<void>(WriteIdentity(MakeRealFs().get(), disk.folder, *identity));
  if (callbacks.tries_folders) {
    const Status taken = TryFolder(cache.fs.get(), model_folder);
    if (!taken) disk.trouble = taken.error();
  }
  cache.store = DiskStore::Open(cache.fs.get(), std::move(disk));
  return cache;
}

std::unique_ptr<SnapshotStore> MakeStore(const ServeOptions& options, const DiskCache& disk) {
  if (!StoresCheckpoints(options)) return MakeNoneStore();
  return disk.store ? MakeTieredStore(disk.store.get()) : MakeRamStore();
}

LineageId RandomLineage() {
  std::random_device random;
  const uint64_t high = random();
  const uint64_t low = random();
  return (high << 32) ^ low;
}

}  // namespace cairn
