// The commands of `cairn cache`, one function each, and shared helpers. For cache*.cc only.
//
// Each prints its result on standard output; the caller prints errors.

#ifndef CAIRN_CMD_CACHE_CACHE_COMMANDS_H_
#define CAIRN_CMD_CACHE_CACHE_COMMANDS_H_

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/fs.h"
#include "base/json.h"
#include "base/result.h"
#include "cmd/cache/cache.h"
#include "store/folder/object_folder.h"

namespace cairn {

struct RemoteStores;

struct CacheRun {
  const CacheCommandOptions& options;
  Fs* fs = nullptr;
  int64_t now_ns = 0;  // since 1970
};

// Each returns the program's exit code.
Result<int> ListCache(const CacheRun& run);
Result<int> ShowCache(const CacheRun& run);
Result<int> VerifyCache(const CacheRun& run);
Result<int> PruneCache(const CacheRun& run);
Result<int> RemoveFromCache(const CacheRun& run);
Result<int> WipeCache(const CacheRun& run);
Result<int> ExportCache(const CacheRun& run);
Result<int> ImportCache(const CacheRun& run);
// ls, verify, prune and reindex of a remote store.
Result<int> RunRemoteCache(const CacheRun& run, const RemoteStores& stores);

// Returns the folder's contents; prints a progress line if that takes long. kNotFound if there is
// no such folder; the message says what to do.
Result<FolderContents> ScanCache(const CacheRun& run);

// Finds an object by its name or its first digits. kNotFound if there is none; kInvalidArgument if
// there are several, or `name` is not made of digits.
Result<const FoundObject*> FindNamed(const FolderContents& contents, const std::string& name);
// Finds a model's folder by its fingerprint or its first digits. Same errors.
Result<std::string> FindModel(const FolderContents& contents, const std::string& model);
// Finds the folder of --model; empty if the flag was not given. Same errors.
Result<std::string> FindModelOf(const CacheRun& run, const FolderContents& contents);

// Result of verifying all files.
struct CacheVerdict {
  uint64_t good = 0;  // objects
  uint64_t read_bytes = 0;
  std::vector<FoundFile> bad = {};
  std::vector<FoundFile> newer = {};       // files of a newer format, which are not judged
  std::vector<std::string> stranded = {};  // paths of the files
  std::vector<FoundFile> unfinished = {};
};
// Removes bad objects from the index.
CacheVerdict Verify(const CacheRun& run, FolderContents* contents);

// Acquires the lock for evictions. Waits for `lock_wait_ms`.
Result<std::unique_ptr<FileLock>> LockCache(const CacheRun& run);

// Removes files and reports failures. `bytes` is the sum of the removed files.
struct Removal {
  std::string path;
  std::string name;  // as printed
  uint64_t bytes = 0;
};
struct Removed {
  std::vector<Removal> files = {};
  uint64_t bytes = 0;
  std::vector<std::string> failed = {};  // one message per failure
};
Removed RemoveFiles(const CacheRun& run, const std::vector<Removal>& files);

// Texts and JSON of `cairn cache`.
//
// Pure functions: any thread.

// Objects of one kind, and the bytes of their files.
struct ObjectTotal {
  uint64_t objects = 0;
  uint64_t bytes = 0;

  void Add(uint64_t file_bytes) {
    ++objects;
    bytes += file_bytes;
  }
};

// "812 B", "1.5 KiB", "49.9 MiB"
std::string BytesText(uint64_t bytes);
// "now", "5 s", "12 min", "3 h", "8 d". A time in the future, as frequently used objects have, is
// "now".
std::string AgeText(int64_t time_ns, int64_t now_ns);
// "1 object", "2 objects"
std::string CountText(uint64_t number, std::string_view unit);

// Returns a snapshot's class: "header", "turn", …; "-" for other kinds.
std::string ClassText(const ObjectHeader& header);
// Returns the first digits of a name, as ls shows them. Commands accept them while they are
// unambiguous.
std::string ShortText(std::string_view name);
// "20480", or "4096-8192" for a segment.
std::string TokensText(const FoundObject& object);
// Returns the model's name; empty if the folder does not record it.
std::string ModelText(const FolderContents& contents, const std::string& model);

// Returns a table with columns as wide as their widest cell, two spaces apart, without trailing
// spaces.
std::string TableText(const std::vector<std::vector<std::string>>& rows);

Json ObjectJson(const FoundObject& object, int64_t now_ns);
// Prints one JSON object and a newline on standard output.
void PrintJson(const Json& json);

}  // namespace cairn

#endif  // CAIRN_CMD_CACHE_CACHE_COMMANDS_H_
