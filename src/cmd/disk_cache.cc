#include "cmd/disk_cache.h"

#include <chrono>
#include <random>
#include <utility>

#include "base/hash.h"
#include "cmd/cache_flags.h"
#include "cmd/cache_folder.h"
#include "store/codec.h"
#include "store/identity.h"

namespace cairn {
namespace {

constexpr double kGib = 1 << 30;

int64_t UnixNs() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::nanoseconds>(now).count();
}

// `any` cuts everywhere, so what it calls on the grid is not what the others call so.
Result<std::string> IdentityOf(const Engine& engine, ReuseMode reuse) {
  auto identity = engine.StateIdentity();
  if (identity && reuse == ReuseMode::kAny) *identity += "cut=anywhere\n";
  return identity;
}

SavedAs SavedAsOf(const std::string& identity, const ServeOptions& options) {
  SavedAs saved_as;
  saved_as.fingerprint = FingerprintOf(identity);
  saved_as.name_spaces.emplace_back(0, 0);
  for (size_t i = 0; i < options.api_keys.size(); ++i) {
    const uint64_t name = Hash64("cairn key " + options.api_keys[i]);
    saved_as.name_spaces.emplace_back(static_cast<NamespaceId>(i + 1), name);
  }
  return saved_as;
}

}  // namespace

std::string CacheFolderOf(const ServeOptions& options) {
  return options.cache_folder.empty() ? DefaultCacheFolder() : options.cache_folder;
}

Result<DiskCache> OpenDiskCache(const ServeOptions& options, const Engine& engine, ReuseMode reuse,
                                DiskCallbacks callbacks) {
  DiskCache cache;
  const auto codec = ParseCodec(options.codec);
  if (!codec) return Fail(codec.error().code, "--codec: " + codec.error().message);
  const bool keeps = options.cache_disk_gib > 0 && StoresCheckpoints(options);
  if (!keeps && options.slot_save_path.empty()) return cache;
  const auto identity = IdentityOf(engine, reuse);
  if (!identity) return tl::unexpected(identity.error());
  cache.saved_as = SavedAsOf(*identity, options);
  cache.fs = MakeRealFs();
  cache.slot_files.folder = options.slot_save_path;
  cache.slot_files.saved_as = cache.saved_as;
  cache.slot_files.codec = *codec;
  cache.slot_files.needs_snapshots = engine.traits().NeedsSnapshots();
  if (!keeps) return cache;
  DiskStoreOptions disk;
  disk.folder = CacheFolderOf(options);
  disk.fingerprint = cache.saved_as.fingerprint;
  disk.bytes_max = static_cast<uint64_t>(options.cache_disk_gib * kGib);
  disk.write_bytes_per_s = uint64_t{options.disk_write_mib_s} << 20;
  disk.codec = *codec;
  disk.now_ns = UnixNs;
  disk.wake = std::move(callbacks.wake);
  disk.log = std::move(callbacks.log);
  // For people who look there; where it cannot be written, the store says what is wrong.
  static_cast<void>(WriteIdentity(cache.fs.get(), disk.folder, *identity));
  cache.store = DiskStore::Open(cache.fs.get(), std::move(disk));
  return cache;
}

LineageId RandomLineage() {
  std::random_device random;
  const uint64_t high = random();
  const uint64_t low = random();
  return (high << 32) ^ low;
}

}  // namespace cairn
