// What `cairn serve` keeps on disk: what the flags come to.

#ifndef CAIRN_CMD_SERVE_DISK_CACHE_H_
#define CAIRN_CMD_SERVE_DISK_CACHE_H_

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/fs.h"
#include "base/log.h"
#include "cache/checkpoint_cache.h"
#include "cache/resume.h"
#include "cmd/serve/serve.h"
#include "engine/engine.h"
#include "http/keys.h"
#include "sched/slots/slot_files.h"
#include "store/disk/disk_store.h"
#include "store/object.h"

namespace cairn {

// Where --cache-dir says, or the user's own folder.
std::string CacheFolderOf(const ServeOptions& options);

// Whether checkpoints are kept in that folder.
bool KeepsOnDisk(const ServeOptions& options);

// See DiskStoreOptions.
struct DiskCallbacks {
  std::function<void()> wake;
  LogSink log;
  TraceEvents* trace = nullptr;
};

struct DiskCache {
  std::unique_ptr<Fs> fs;
  std::unique_ptr<DiskStore> store;  // null: checkpoints are not kept on disk
  // Of the files that are written.
  Codec codec = Codec::kRaw;
  // Keys are named by their hashes, so that a key that is given again finds what was its own.
  SavedAs saved_as;
  // Of slots that are saved to files; folder empty: none are.
  SlotFilesOptions slot_files;

  // Whether anything leaves this process, so that others must be able to tell what it is.
  bool outlives() const { return store != nullptr || !slot_files.folder.empty(); }
};

// Namespaces as keys are numbered, with the names that what is saved of them has: that of a key
// hangs on the key alone.
std::vector<std::pair<NamespaceId, uint64_t>> NameSpacesOf(const ApiKeys& keys);

// The one that --codec names. kInvalidArgument: it names none.
Result<Codec> CodecOf(const ServeOptions& options);

// Called by the thread that owns the context. Errors as CodecOf's and Engine::StateIdentity's.
Result<DiskCache> OpenDiskCache(const ServeOptions& options, const ApiKeys& keys, Engine* engine,
                                ReuseMode reuse, DiskCallbacks callbacks);

// So far from that of any other process that their runs never have the same number.
LineageId RandomLineage();

}  // namespace cairn

#endif  // CAIRN_CMD_SERVE_DISK_CACHE_H_
