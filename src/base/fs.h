// Fs: what the project asks of a file system, so that tests can put one in its place that loses
// what was not synced, tears writes, runs full and refuses (testing/base/memory_fs.h).
//
// Paths are whole, with '/' between folders. Files are written once, front to back, and appear by
// Rename; nothing is ever changed in place.
//
// Errors: kNotFound: there is no such file. kNoSpace: the device is full. kUnavailable: refused
// (permissions, a read-only file system, a lock that another holds). kInternal: anything else, EIO
// among it. The message begins with the quoted path and ends with what the system said.
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
  // Of the last change, in nanoseconds since 1970. May be set by SetTime, to the future too.
  int64_t time_ns = 0;
};

// A file that is being written. Closed without Sync, or dropped, it may be lost or torn.
class FileWriter {
 public:
  virtual ~FileWriter() = default;
  // All of it or an error, after which the file is of no use.
  virtual Status Append(ByteSpan bytes) = 0;
  // Returns when the bytes are on the device.
  virtual Status Sync() = 0;
  virtual Status Close() = 0;
};

// Held as long as it lives; the system gives it up when the process ends.
class FileLock {
 public:
  virtual ~FileLock() = default;
};

class Fs {
 public:
  virtual ~Fs() = default;

  // Names of the files and folders in a folder, without "." and "..", in no order.
  virtual Result<std::vector<std::string>> List(const std::string& folder) const = 0;
  virtual Result<FileStat> Stat(const std::string& path) const = 0;
  // With all above it, for the owner alone (0700), and on the device when it returns. Nothing
  // happens when it is there.
  virtual Status MakeFolders(const std::string& folder) = 0;
  // A new file for the owner alone (0600), in place of one of that name.
  virtual Result<std::unique_ptr<FileWriter>> Create(const std::string& path) = 0;
  // The bytes of [offset, offset + size), fewer where the file ends before.
  virtual Result<Bytes> Read(const std::string& path, uint64_t offset, uint64_t size) const = 0;
  // In place of what is at `to`, at once.
  virtual Status Rename(const std::string& from, const std::string& to) = 0;
  // A file, or a folder with nothing in it.
  virtual Status Remove(const std::string& path) = 0;
  virtual Status SetTime(const std::string& path, int64_t time_ns) = 0;
  // Returns when renames and removals in the folder are on the device.
  virtual Status SyncFolder(const std::string& folder) = 0;
  // What the device has left for us.
  virtual Result<uint64_t> FreeBytes(const std::string& folder) const = 0;
  // The lock of that name, without waiting; the file is made when it is not there.
  // kUnavailable: another holds it.
  virtual Result<std::unique_ptr<FileLock>> TryLock(const std::string& path) = 0;
};

// The machine's.
std::unique_ptr<Fs> MakeRealFs();

}  // namespace cairn

#endif  // CAIRN_BASE_FS_H_
