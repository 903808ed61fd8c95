// Fs: the file system calls that the project uses. Tests substitute a file system that loses
// unsynced data, tears writes, fills up and refuses calls (testing/base/memory_fs.h).
//
// Paths are complete, with '/' between folders. Files are written once, front to back, and take
// their final name by Rename; nothing is changed in place.
//
// Errors: kNotFound: there is no such file. kNoSpace: the device is full. kUnavailable: refused
// (permissions, a read-only file system, a lock that another process holds). kInternal: anything
// else, including EIO. The message begins with the quoted path and ends with the system's error
// text.
//
// Threads: any.

#ifndef CAIRN_BASE_FS_H_
#define CAIRN_BASE_FS_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"

namespace cairn {

struct FileStat {
  uint64_t bytes = 0;
  // Time of the last change, in nanoseconds since 1970. SetTime may set it, also to the future.
  int64_t time_ns = 0;
};

// The room of a device, in bytes.
struct DeviceSpace {
  uint64_t free_bytes = 0;  // that this user may fill
  uint64_t size_bytes = 0;  // of the whole device
};

// A file that is being written. If it is closed or destroyed without Sync, its content may be lost
// or torn.
class FileWriter {
 public:
  virtual ~FileWriter() = default;
  // Appends all bytes or returns an error, after which the file is unusable.
  virtual Status Append(ByteSpan bytes) = 0;
  // Returns when the bytes are on the device.
  virtual Status Sync() = 0;
  virtual Status Close() = 0;
};

// Holds the lock until it is destroyed; the system releases it when the process ends.
class FileLock {
 public:
  virtual ~FileLock() = default;
};

class Fs {
 public:
  virtual ~Fs() = default;

  // Returns the names of the files and folders in `folder`, without "." and "..", unordered.
  virtual Result<std::vector<std::string>> List(const std::string& folder) const = 0;
  virtual Result<FileStat> Stat(const std::string& path) const = 0;
  // Creates the folder and its parents, for the owner alone (0700), and syncs them. Does nothing if
  // the folder exists.
  virtual Status MakeFolders(const std::string& folder) = 0;
  // Creates a file for the owner alone (0600), replacing one of the same name.
  virtual Result<std::unique_ptr<FileWriter>> Create(const std::string& path) = 0;
  // Returns the bytes of [offset, offset + size), or fewer if the file ends before.
  virtual Result<Bytes> Read(const std::string& path, uint64_t offset, uint64_t size) const = 0;
  // Replaces whatever is at `to`, atomically.
  virtual Status Rename(const std::string& from, const std::string& to) = 0;
  // Removes a file or an empty folder.
  virtual Status Remove(const std::string& path) = 0;
  virtual Status SetTime(const std::string& path, int64_t time_ns) = 0;
  // Returns when renames and removals in the folder are on the device.
  virtual Status SyncFolder(const std::string& folder) = 0;
  // Returns the room of the device that the folder is on.
  virtual Result<DeviceSpace> SpaceOf(const std::string& folder) const = 0;
  // Takes the lock file `path` without waiting, and creates it if necessary. Returns kUnavailable
  // if it is locked already.
  virtual Result<std::unique_ptr<FileLock>> TryLock(const std::string& path) = 0;
};

// The machine's file system.
std::unique_ptr<Fs> MakeRealFs();

// Returns the bytes of the file at `path`. For files that a person names and that are useless when
// empty. Returns kNotFound if the file cannot be read or is empty. The message begins with the
// quoted path, so that the caller can prepend the file's purpose.
Result<std::string> ReadFile(const std::string& path);

}  // namespace cairn

#endif  // CAIRN_BASE_FS_H_
