// The commands of `cairn cache`, one function each, and what they share. For cache*.cc only.
//
// Each prints what it found or did on standard output. An error is said by the caller.

#ifndef CAIRN_CMD_CACHE_CACHE_COMMANDS_H_
#define CAIRN_CMD_CACHE_CACHE_COMMANDS_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/fs.h"
#include "base/result.h"
#include "cmd/cache/cache.h"
#include "store/object_folder.h"

namespace cairn {

struct CacheRun {
  const CacheCommandOptions& options;
  Fs* fs = nullptr;
  int64_t now_ns = 0;  // since 1970
};

// The result is the program's exit code.
Result<int> ListCache(const CacheRun& run);
Result<int> ShowCache(const CacheRun& run);
Result<int> VerifyCache(const CacheRun& run);
Result<int> PruneCache(const CacheRun& run);
Result<int> RemoveFromCache(const CacheRun& run);
Result<int> ExportCache(const CacheRun& run);
Result<int> ImportCache(const CacheRun& run);

// The folder's contents, with a line about the progress when it takes long.
// kNotFound: there is no such folder; the message says what to do.
Result<FolderContents> ScanCache(const CacheRun& run);

// The object that a name or its first digits mean.
// kNotFound: none. kInvalidArgument: several, or no digits.
Result<const FoundObject*> FindNamed(const FolderContents& contents, const std::string& name);
// The folder of the model that a fingerprint or its first digits mean. Errors likewise.
Result<std::string> FindModel(const FolderContents& contents, const std::string& model);

// What reading everything found.
struct CacheVerdict {
  uint64_t good = 0;  // objects
  uint64_t read_bytes = 0;
  std::vector<FoundFile> bad = {};
  std::vector<FoundFile> newer = {};       // of a newer format: not bad, and not ours to judge
  std::vector<std::string> stranded = {};  // paths of files
  std::vector<FoundFile> unfinished = {};
};
// Takes what is bad out of the index.
CacheVerdict Verify(const CacheRun& run, FolderContents* contents);

// The lock under which objects are given up. Waits for `lock_wait_ms`.
Result<std::unique_ptr<FileLock>> LockCache(const CacheRun& run);

// Removes files, and says which did not go. `bytes`: what went.
struct Removal {
  std::string path;
  std::string name;  // as it is printed
  uint64_t bytes = 0;
};
struct Removed {
  std::vector<Removal> files = {};
  uint64_t bytes = 0;
  std::vector<std::string> failed = {};  // why
};
Removed RemoveFiles(const CacheRun& run, const std::vector<Removal>& files);

}  // namespace cairn

#endif  // CAIRN_CMD_CACHE_CACHE_COMMANDS_H_
