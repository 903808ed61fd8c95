// The disk tier of `cairn serve`, created from the flags.

#ifndef CAIRN_CMD_SERVE_BASE_DISK_CACHE_H_
#define CAIRN_CMD_SERVE_BASE_DISK_CACHE_H_

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/fs.h"
#include "base/log.h"
#include "cache/checkpoint_cache.h"
#include "cache/resume.h"
#include "cmd/serve/base/serve_options.h"
#include "engine/engine.h"
#include "http/keys.h"
#include "sched/slot_files.h"
#include "store/disk/disk_store.h"
#include "store/object.h"

namespace cairn {

// Returns the folder of --cache-dir, or the user's default folder.
std::string CacheFolderOf(const ServeOptions& options);

// Returns whether checkpoints are saved to that folder.
bool KeepsOnDisk(const ServeOptions& options);

// See DiskStoreOptions.
struct DiskCallbacks {
  std::function<void()> wake;
  LogSink log;
  TraceEvents* trace = nullptr;
  std::function<void(const ObjectHeader&)> on_written = {};
  std::function<void(const ObjectName&)> on_used = {};
  // Write a file into each folder first, so that one that takes none is logged at the start, and
  // not when there is something to save. It is used all the same: it may take files later.
  bool tries_folders = false;
};

struct DiskCache {
  std::unique_ptr<Fs> fs;
  std::unique_ptr<DiskStore> store;  // null without a disk tier
  std::string identity;              // the text that the fingerprint is the hash of
  // Codec of new files.
  Codec codec = Codec::kRaw;
  // Keys are identified by their hashes, so that a key finds its own objects again after a restart.
  SavedAs saved_as;
  // Options for slots saved to files; the folder is empty if there are none.
  SlotFilesOptions slot_files;

  // Whether states leave this process, so that other processes must be able to identify them.
  bool outlives() const { return store != nullptr || !slot_files.folder.empty(); }
};

// Returns the namespaces in the order of the keys, with the names of their saved objects. A key's
// name depends on the key only.
std::vector<std::pair<NamespaceId, uint64_t>> NameSpacesOf(const ApiKeys& keys);

// Returns the codec of --codec. kInvalidArgument if there is no such codec.
Result<Codec> CodecOf(const ServeOptions& options);

// Call on the context thread. Errors are those of CodecOf and Engine::StateIdentity.
Result<DiskCache> OpenDiskCache(const ServeOptions& options, const ApiKeys& keys, Engine* engine,
                                ReuseMode reuse, const CutRules& cuts, DiskCallbacks callbacks);

// Returns the store of a cache with these tiers; one that keeps nothing where --cache-ram or
// --ctx-checkpoints is 0. `disk` must outlive it.
std::unique_ptr<SnapshotStore> MakeStore(const ServeOptions& options, const DiskCache& disk);

// Returns a first lineage so far from those of other processes that no two runs have the same
// number.
LineageId RandomLineage();

}  // namespace cairn

#endif  // CAIRN_CMD_SERVE_BASE_DISK_CACHE_H_
