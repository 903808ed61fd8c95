#include "api/media/file_below.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <system_error>

namespace cairn {
namespace {

namespace fs = std::filesystem;

// A file that is closed at the end. Opening does not follow a link and does not wait for a pipe.
class OpenFile {
 public:
  explicit OpenFile(const fs::path& path)
      : fd_(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)) {}
  ~OpenFile() {
    if (fd_ >= 0) close(fd_);
  }
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;

  // Returns its size; negative if it is not a regular file that can be read.
  off_t RegularBytes() const {
    struct stat status = {};
    if (fd_ < 0 || fstat(fd_, &status) != 0 || !S_ISREG(status.st_mode)) return -1;
    return status.st_size;
  }
  // Fills `bytes`; returns false if there are fewer.
  bool Read(Bytes* bytes) const {
    for (size_t at = 0; at < bytes->size();) {
      const ssize_t n = read(fd_, bytes->data() + at, bytes->size() - at);
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0) return false;
      at += static_cast<size_t>(n);
    }
    return true;
  }

 private:
  const int fd_;
};

bool IsBelow(const fs::path& folder, const fs::path& path) {
  const auto [in_folder, in_path] =
      std::mismatch(folder.begin(), folder.end(), path.begin(), path.end());
  return in_folder == folder.end() && in_path != path.end();
}

// Returns the real path of what `path` names below `root`; empty if that is nothing.
fs::path FindBelow(const fs::path& root, const std::string& path) {
  // An absolute path replaces the folder. llama-server looks for it in the folder too.
  const std::string relative = path.substr(std::min(path.find_first_not_of('/'), path.size()));
  for (const fs::path& wanted : {root / path, root / relative}) {
    std::error_code error;
    fs::path found = fs::canonical(wanted, error);
    if (!error && IsBelow(root, found)) return found;
  }
  return {};
}

}  // namespace

Result<Bytes> ReadFileBelow(const std::string& folder, const std::string& path, size_t bytes_max) {
  const Error missing{ErrorCode::kNotFound,
                      "there is no such file below the folder of --media-path"};
  std::error_code error;
  const fs::path root = fs::canonical(folder, error);
  if (error || path.find('\0') != std::string::npos) return tl::unexpected<Error>(missing);
  const fs::path found = FindBelow(root, path);
  if (found.empty()) return tl::unexpected<Error>(missing);
  // A pipe or a device is not even opened.
  if (!fs::is_regular_file(found, error)) return tl::unexpected<Error>(missing);
  const OpenFile file(found);
  const off_t size = file.RegularBytes();
  if (size < 0) return tl::unexpected<Error>(missing);
  if (static_cast<size_t>(size) > bytes_max) {
    return Fail(ErrorCode::kTooLong, "the file has " + std::to_string(size) + " bytes");
  }
  Bytes bytes(static_cast<size_t>(size));
  if (!file.Read(&bytes)) return Fail(ErrorCode::kUnavailable, "the file cannot be read");
  return bytes;
}

}  // namespace cairn
