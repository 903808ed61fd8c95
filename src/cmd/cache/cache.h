// `cairn cache ls|show|verify|prune|rm|export|import`: what the disk keeps of prompts that were
// read, looked at and looked after without a server. Servers may be using the folder meanwhile.

#ifndef CAIRN_CMD_CACHE_CACHE_H_
#define CAIRN_CMD_CACHE_CACHE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "base/fs.h"

namespace CLI {
class App;
}

namespace cairn {

enum class CacheCommand { kList, kShow, kVerify, kPrune, kRemove, kExport, kImport };

struct CacheCommandOptions {
  CacheCommand command = CacheCommand::kList;
  std::string folder;  // of the cache; empty: there is no default
  bool json = false;
  std::vector<std::string> names;  // of objects, or their first digits
  std::string model;               // a fingerprint, or its first digits; empty: every model
  std::string file;                // of export and import
  bool all = false;                // rm: everything
  bool bad = false;                // prune: bad files too
  bool dry_run = false;            // prune and rm: only say what would go
  double to_gib = -1;              // prune: at most so much is left; negative: not asked
  double older_than_days = -1;     // prune; negative: not asked
  double lock_wait_ms = 5000;      // for a server that is giving objects up

  CacheCommandOptions();
};

// Adds the subcommand `cache` to `app`. Parsing fills `options`, which must outlive it; when the
// subcommand returned was chosen, call RunCache.
CLI::App* AddCache(CLI::App* app, CacheCommandOptions* options);

// Prints what was found or done, or one line on standard error about what went wrong. Returns the
// program's exit code: 1 also when `verify` found something bad.
int RunCache(const CacheCommandOptions& options);
// The same on another file system, at another time: since 1970.
int RunCacheOn(Fs* fs, int64_t now_ns, const CacheCommandOptions& options);

}  // namespace cairn

#endif  // CAIRN_CMD_CACHE_CACHE_H_
