#include "base/fs.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <ctime>
#include <fstream>
#include <sstream>
#include <system_error>
#include <utility>

#include "base/check.h"

namespace cairn {
namespace {

constexpr int64_t kSecondNs = 1'000'000'000;
constexpr mode_t kFileMode = 0600;
constexpr mode_t kFolderMode = 0700;

ErrorCode CodeOf(int number) {
  switch (number) {
    case ENOENT:
    case ENOTDIR:
      return ErrorCode::kNotFound;
    case ENOSPC:
    case EDQUOT:
      return ErrorCode::kNoSpace;
    case EACCES:
    case EPERM:
    case EROFS:
    case EWOULDBLOCK:
      return ErrorCode::kUnavailable;
    default:
      return ErrorCode::kInternal;
  }
}

tl::unexpected<Error> Refused(const std::string& path, int number) {
  return Fail(CodeOf(number), "\"" + path + "\": " + std::generic_category().message(number));
}

// Repeats a call that a signal interrupted. If it returns -1, errno holds the reason.
template <typename Call>
auto Retry(const Call& call) {
  auto returned = call();
  while (returned < 0 && errno == EINTR) returned = call();
  return returned;
}

Status StatusOf(const std::string& path, int returned) {
  if (returned != 0) return Refused(path, errno);
  return {};
}

class FileHandle {
 public:
  explicit FileHandle(int number) : number_(number) {}
  FileHandle(FileHandle&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  FileHandle& operator=(FileHandle&&) = delete;
  FileHandle(const FileHandle&) = delete;
  FileHandle& operator=(const FileHandle&) = delete;
  ~FileHandle() {
    if (number_ >= 0) close(number_);
  }
  int number() const { return number_; }
  // The caller must close the descriptor.
  int Take() { return std::exchange(number_, -1); }

 private:
  int number_;
};

Result<FileHandle> Open(const std::string& path, int flags) {
  const int number = Retry([&] { return open(path.c_str(), flags | O_CLOEXEC, kFileMode); });
  if (number < 0) return Refused(path, errno);
  return FileHandle(number);
}

class RealWriter final : public FileWriter {
 public:
  RealWriter(std::string path, FileHandle file) : path_(std::move(path)), file_(std::move(file)) {}

  Status Append(ByteSpan bytes) override {
    CHECK(file_.number() >= 0);
    while (!bytes.empty()) {
      const ssize_t written =
          Retry([&] { return write(file_.number(), bytes.data(), bytes.size()); });
      if (written < 0) return Refused(path_, errno);
      bytes = bytes.subspan(static_cast<size_t>(written));
    }
    return {};
  }

  Status Sync() override {
    CHECK(file_.number() >= 0);
    return StatusOf(path_, Retry([&] { return fsync(file_.number()); }));
  }

  Status Close() override {
    CHECK(file_.number() >= 0);
    // On Linux the descriptor is closed whatever close() returns: a retry could close another file.
    const int returned = close(file_.Take());
    if (returned != 0 && errno == EINTR) return {};
    return StatusOf(path_, returned);
  }

 private:
  const std::string path_;
  FileHandle file_;
};

class RealLock final : public FileLock {
 public:
  explicit RealLock(FileHandle file) : file_(std::move(file)) {}

 private:
  const FileHandle file_;  // closing it releases the lock
};

class RealFs final : public Fs {
 public:
  Result<std::vector<std::string>> List(const std::string& folder) const override;
  Result<FileStat> Stat(const std::string& path) const override;
  Status MakeFolders(const std::string& folder) override;
  Result<std::unique_ptr<FileWriter>> Create(const std::string& path) override;
  Result<Bytes> Read(const std::string& path, uint64_t offset, uint64_t size) const override;
  Status Rename(const std::string& from, const std::string& to) override;
  Status Remove(const std::string& path) override;
  Status SetTime(const std::string& path, int64_t time_ns) override;
  Status SyncFolder(const std::string& folder) override;
  Result<DeviceSpace> SpaceOf(const std::string& folder) const override;
  Result<std::unique_ptr<FileLock>> TryLock(const std::string& path) override;
};

// Returns 0 if the path is a folder, otherwise an errno.
int IsFolder(const std::string& path) {
  struct stat found = {};
  if (stat(path.c_str(), &found) != 0) return errno;
  return S_ISDIR(found.st_mode) ? 0 : ENOTDIR;
}

std::string FolderOf(const std::string& path) {
  const size_t slash = path.find_last_of('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

Result<std::vector<std::string>> RealFs::List(const std::string& folder) const {
  const std::unique_ptr<DIR, int (*)(DIR*)> stream(opendir(folder.c_str()), closedir);
  if (stream == nullptr) return Refused(folder, errno);
  std::vector<std::string> names;
  while (true) {
    errno = 0;
    const dirent* const entry = readdir(stream.get());
    if (entry == nullptr) break;
    std::string name = entry->d_name;
    if (name != "." && name != "..") names.push_back(std::move(name));
  }
  if (errno != 0) return Refused(folder, errno);
  return names;
}

Result<FileStat> RealFs::Stat(const std::string& path) const {
  struct stat found = {};
  if (stat(path.c_str(), &found) != 0) return Refused(path, errno);
  return FileStat{static_cast<uint64_t>(found.st_size),
                  int64_t{found.st_mtim.tv_sec} * kSecondNs + found.st_mtim.tv_nsec};
}

Status RealFs::MakeFolders(const std::string& folder) {
  const int missing = IsFolder(folder);
  if (missing == 0) return {};
  if (missing != ENOENT) return Refused(folder, missing);
  std::string path = folder;
  while (path.size() > 1 && path.back() == '/') path.pop_back();
  const std::string above = FolderOf(path);
  if (above == path) return Refused(folder, missing);
  if (Status made = MakeFolders(above); !made) return made;
  if (mkdir(path.c_str(), kFolderMode) != 0) {
    const int refused = errno;
    // Another process may have created it first.
    if (refused != EEXIST || IsFolder(path) != 0) return Refused(path, refused);
  }
  // A parent folder that may not be read cannot be synced either; the new folder exists all the
  // same.
  (void)SyncFolder(above);
  return {};
}

Result<std::unique_ptr<FileWriter>> RealFs::Create(const std::string& path) {
  Result<FileHandle> file = Open(path, O_WRONLY | O_CREAT | O_TRUNC);
  if (!file) return tl::unexpected(std::move(file).error());
  return std::make_unique<RealWriter>(path, *std::move(file));
}

Result<Bytes> RealFs::Read(const std::string& path, uint64_t offset, uint64_t size) const {
  const Result<FileHandle> file = Open(path, O_RDONLY);
  if (!file) return tl::unexpected(file.error());
  struct stat found = {};
  if (fstat(file->number(), &found) != 0) return Refused(path, errno);
  if (S_ISDIR(found.st_mode)) return Refused(path, EISDIR);
  // Allocates only for what the file holds, whatever size was requested.
  const auto end = static_cast<uint64_t>(found.st_size);
  Bytes bytes;
  if (offset >= end) return bytes;
  bytes.resize(std::min(size, end - offset));
  size_t filled = 0;
  while (filled < bytes.size()) {
    const ssize_t got = Retry([&] {
      return pread(file->number(), bytes.data() + filled, bytes.size() - filled,
                   static_cast<off_t>(offset + filled));
    });
    if (got < 0) return Refused(path, errno);
    if (got == 0) break;  // the file was truncated meanwhile
    filled += static_cast<size_t>(got);
  }
  bytes.resize(filled);
  return bytes;
}

Status RealFs::Rename(const std::string& from, const std::string& to) {
  return StatusOf(from, rename(from.c_str(), to.c_str()));
}

Status RealFs::Remove(const std::string& path) {
  return StatusOf(path, std::remove(path.c_str()));
}

Status RealFs::SetTime(const std::string& path, int64_t time_ns) {
  int64_t seconds = time_ns / kSecondNs;
  int64_t rest = time_ns % kSecondNs;
  if (rest < 0) {
    --seconds;
    rest += kSecondNs;
  }
  std::array<timespec, 2> times = {};  // times of the last access and the last change
  times[0].tv_nsec = UTIME_OMIT;
  times[1].tv_sec = seconds;
  times[1].tv_nsec = rest;
  return StatusOf(path, utimensat(AT_FDCWD, path.c_str(), times.data(), 0));
}

Status RealFs::SyncFolder(const std::string& folder) {
  const Result<FileHandle> file = Open(folder, O_RDONLY | O_DIRECTORY);
  if (!file) return tl::unexpected(file.error());
  const int returned = Retry([&] { return fsync(file->number()); });
  // Some network file systems cannot sync folders; nothing can be done about that.
  if (returned != 0 && errno == EINVAL) return {};
  return StatusOf(folder, returned);
}

Result<DeviceSpace> RealFs::SpaceOf(const std::string& folder) const {
  struct statvfs device = {};
  if (Retry([&] { return statvfs(folder.c_str(), &device); }) != 0) return Refused(folder, errno);
  return DeviceSpace{uint64_t{device.f_bavail} * device.f_frsize,
                     uint64_t{device.f_blocks} * device.f_frsize};
}

Result<std::unique_ptr<FileLock>> RealFs::TryLock(const std::string& path) {
  Result<FileHandle> file = Open(path, O_RDWR | O_CREAT);
  if (!file) return tl::unexpected(std::move(file).error());
  if (Retry([&] { return flock(file->number(), LOCK_EX | LOCK_NB); }) != 0) {
    return Refused(path, errno);
  }
  return std::make_unique<RealLock>(*std::move(file));
}

}  // namespace

std::unique_ptr<Fs> MakeRealFs() {
  return std::make_unique<RealFs>();
}

Result<std::string> ReadFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  // Streaming no bytes at all sets the fail bit, so this also covers folders and empty files.
  if (!file || !(text << file.rdbuf())) {
    return Fail(ErrorCode::kNotFound, "'" + path + "' cannot be read, or there is nothing in it");
  }
  return std::move(text).str();
}

}  // namespace cairn
