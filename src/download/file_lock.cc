#include "download/file_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <system_error>

namespace cairn {

Result<std::unique_ptr<DownloadLock>> DownloadLock::Try(const std::string& path) {
  std::error_code error;
  std::filesystem::create_directories(std::filesystem::path(path).parent_path(), error);
  const int descriptor = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  if (descriptor < 0) {
    const std::string why = std::generic_category().message(errno);
    return Fail(ErrorCode::kUnavailable, "\"" + path + "\": " + why);
  }
  std::unique_ptr<DownloadLock> lock(new DownloadLock(descriptor));
  while (flock(descriptor, LOCK_EX | LOCK_NB) != 0) {
    if (errno == EINTR) continue;
    if (errno == EWOULDBLOCK) return nullptr;
    const std::string why = std::generic_category().message(errno);
    return Fail(ErrorCode::kUnavailable, "\"" + path + "\" cannot be locked: " + why);
  }
  return lock;
}

DownloadLock::~DownloadLock() {
  close(descriptor_);
}

}  // namespace cairn
