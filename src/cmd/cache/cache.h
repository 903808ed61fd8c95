// `cairn cache ls|show|verify|prune|reindex|rm|wipe|export|import`: inspects and maintains the disk
// cache, or with --remote a remote store, without a server. Servers may use both at the same time.

#ifndef CAIRN_CMD_CACHE_CACHE_H_
#define CAIRN_CMD_CACHE_CACHE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "base/fs.h"
#include "cmd/lib/cache_folder.h"

namespace CLI {
class App;
}

namespace cairn {

enum class CacheCommand {
  kList,
  kShow,
  kVerify,
  kPrune,
  kReindex,
  kRemove,
  kWipe,
  kExport,
  kImport
};

struct CacheCommandOptions {
  CacheCommand command = CacheCommand::kList;
  std::string folder;  // the cache folder; empty if there is no default
  bool json = false;
  std::vector<std::string> names;  // names of objects, or their first digits
  std::string model;               // a fingerprint, or its first digits; empty for all models
  std::string name_space;          // wipe: a number as `show` prints it, or "none"
  std::string key_file;            // opens and seals files; empty if they are not sealed
  std::string file;                // export and import
  bool all = false;                // rm: remove everything
  bool bad = false;                // prune: remove bad files too
  bool dry_run = false;            // prune, rm and wipe: only print what would be removed
  double to_gib = -1;              // prune: evict down to this size; negative if not given
  double older_than_days = -1;     // prune; negative if not given
  RemoteFlagValues remote;         // ls, verify, prune and reindex: of the remote store
  double lock_wait_ms = 5000;      // for the lock, which a server holds while it evicts

  CacheCommandOptions();
};

// Adds the subcommand `cache` to `app` and returns it. Parsing fills `options`, which must outlive
// it; if the subcommand was chosen, call RunCache.
CLI::App* AddCache(CLI::App* app, CacheCommandOptions* options);

// Prints the result, or one line about the error on standard error. Returns the program's exit
// code: 1 also if `verify` found bad files.
int RunCache(const CacheCommandOptions& options);
// The same on another file system and at another time, in nanoseconds since 1970.
int RunCacheOn(Fs* fs, int64_t now_ns, const CacheCommandOptions& options);

}  // namespace cairn

#endif  // CAIRN_CMD_CACHE_CACHE_H_
