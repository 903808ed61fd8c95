// PartFile: the file that a download writes into, "PATH.cairn-part", until it is whole. It stays
// when a process ends, and the next one goes on behind its last byte. A second file,
// "PATH.cairn-etag", says which version of the content the bytes are of.

#ifndef CAIRN_DOWNLOAD_PART_FILE_H_
#define CAIRN_DOWNLOAD_PART_FILE_H_

#include <cstdint>
#include <memory>
#include <string>

#include "base/bytes.h"
#include "base/result.h"

namespace cairn {

// DownloadLock: held by the process that downloads a file. The system releases it when that process
// ends, however it ends. huggingface_hub locks the same files in the same way (flock).
class DownloadLock {
 public:
  // Takes the lock file `path` without waiting; creates it and its folder if necessary. Returns
  // nullptr if another process or object holds it. kUnavailable: the file cannot be opened.
  static Result<std::unique_ptr<DownloadLock>> Try(const std::string& path);

  ~DownloadLock();
  DownloadLock(const DownloadLock&) = delete;
  DownloadLock& operator=(const DownloadLock&) = delete;

 private:
  explicit DownloadLock(int descriptor) : descriptor_(descriptor) {}
  const int descriptor_;
};

// Returns the bytes that a download to `path` has received so far; 0 if none was begun.
uint64_t BytesOfPart(const std::string& path);

// Whoever has one holds the lock of the download. Not thread-safe. All errors are kNoSpace, where
// the device is full, or kUnavailable; messages begin with the path.
class PartFile {
 public:
  // `path` is the final name, in a folder that exists.
  static Result<std::unique_ptr<PartFile>> Open(const std::string& path);

  ~PartFile();
  PartFile(const PartFile&) = delete;
  PartFile& operator=(const PartFile&) = delete;

  const std::string& path() const { return part_path_; }
  uint64_t bytes() const { return bytes_; }
  // The ETag that a request may compare (If-Range); empty if there is none.
  const std::string& etag() const { return etag_; }
  // Whether nothing but the ETag is needed to be sure of the bytes: they were written since the
  // machine was started, so a power failure has torn none of them.
  bool certain() const { return certain_; }

  // Drops all bytes; those that follow are of the version `etag`, which may be weak or empty.
  Status Restart(const std::string& etag);
  Status Append(ByteSpan bytes);
  // Brings the bytes onto the device and gives the file its final name.
  Status Finish();
  // Removes both files. Nothing may be called afterwards.
  void Discard();

 private:
  PartFile(std::string path, int descriptor, uint64_t bytes);
  void ReadNote();

  const std::string path_;
  const std::string part_path_;
  const std::string note_path_;
  const int descriptor_;
  uint64_t bytes_;
  std::string etag_;
  bool certain_ = false;
};

}  // namespace cairn

#endif  // CAIRN_DOWNLOAD_PART_FILE_H_
