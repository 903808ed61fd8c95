// DownloadLock: held by the process that downloads a file. The system releases it when that process
// ends, however it ends. huggingface_hub locks the same files in the same way (flock).

#ifndef CAIRN_DOWNLOAD_FILE_LOCK_H_
#define CAIRN_DOWNLOAD_FILE_LOCK_H_

#include <memory>
#include <string>

#include "base/result.h"

namespace cairn {

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

}  // namespace cairn

#endif  // CAIRN_DOWNLOAD_FILE_LOCK_H_
