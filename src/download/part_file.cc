#include "download/part_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <system_error>
#include <utility>

namespace cairn {
namespace {

tl::unexpected<Error> RefusedFile(const std::string& path, int number) {
  const bool full = number == ENOSPC || number == EDQUOT;
  return Fail(full ? ErrorCode::kNoSpace : ErrorCode::kUnavailable,
              "\"" + path + "\": " + std::generic_category().message(number));
}

// Differs after each start of the machine; empty where the system has no such number.
std::string BootId() {
  std::string id;
  std::getline(std::ifstream("/proc/sys/kernel/random/boot_id"), id);
  return id;
}

Status SyncFolderOf(const std::string& path) {
  const std::string folder = path.substr(0, path.rfind('/') + 1);
  const int descriptor = open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) return RefusedFile(folder, errno);
  const bool failed = fsync(descriptor) != 0 && errno != EINVAL;
  const int number = errno;
  close(descriptor);
  if (failed) return RefusedFile(folder, number);
  return {};
}

}  // namespace

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

uint64_t BytesOfPart(const std::string& path) {
  struct stat found = {};
  if (stat((path + ".cairn-part").c_str(), &found) != 0) return 0;
  return static_cast<uint64_t>(found.st_size);
}

PartFile::PartFile(std::string path, int descriptor, uint64_t bytes)
    : path_(std::move(path)),
      part_path_(path_ + ".cairn-part"),
      note_path_(path_ + ".cairn-etag"),
      descriptor_(descriptor),
      bytes_(bytes) {}

PartFile::~PartFile() {
  close(descriptor_);
}

Result<std::unique_ptr<PartFile>> PartFile::Open(const std::string& path) {
  const std::string part = path + ".cairn-part";
  const int descriptor = open(part.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  if (descriptor < 0) return RefusedFile(part, errno);
  struct stat found = {};
  if (fstat(descriptor, &found) != 0) {
    const int number = errno;
    close(descriptor);
    return RefusedFile(part, number);
  }
  std::unique_ptr<PartFile> file(
      new PartFile(path, descriptor, static_cast<uint64_t>(found.st_size)));
  file->ReadNote();
  return file;
}

void PartFile::ReadNote() {
  std::ifstream note(note_path_);
  std::string boot;
  std::getline(note, etag_);
  std::getline(note, boot);
  certain_ = !etag_.empty() && !boot.empty() && boot == BootId();
}

Status PartFile::Restart(const std::string& etag) {
  // The note goes first: bytes without a note are never taken for those of another version.
  std::remove(note_path_.c_str());
  etag_.clear();
  certain_ = false;
  if (ftruncate(descriptor_, 0) != 0) return RefusedFile(part_path_, errno);
  bytes_ = 0;
  const bool strong = !etag.empty() && !etag.starts_with("W/");
  if (!strong) return {};
  std::ofstream note(note_path_, std::ios::trunc);
  note << etag << "\n" << BootId() << "\n";
  note.close();
  if (!note) return {};  // without it a cut download begins again
  etag_ = etag;
  certain_ = true;
  return {};
}

Status PartFile::Append(ByteSpan bytes) {
  while (!bytes.empty()) {
    const ssize_t written =
        pwrite(descriptor_, bytes.data(), bytes.size(), static_cast<off_t>(bytes_));
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return RefusedFile(part_path_, written < 0 ? errno : EIO);
    bytes_ += static_cast<uint64_t>(written);
    bytes = bytes.subspan(static_cast<size_t>(written));
  }
  return {};
}

Status PartFile::Finish() {
  if (fsync(descriptor_) != 0) return RefusedFile(part_path_, errno);
  if (std::rename(part_path_.c_str(), path_.c_str()) != 0) return RefusedFile(path_, errno);
  std::remove(note_path_.c_str());
  return SyncFolderOf(path_);
}

void PartFile::Discard() {
  std::remove(note_path_.c_str());
  std::remove(part_path_.c_str());
}

}  // namespace cairn
