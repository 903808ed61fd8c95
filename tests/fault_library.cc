// Preloaded into a server (LD_PRELOAD), between it and the system: calls on files below one folder
// fail, hang or read slowly, and the wall clock jumps, as a test sets it through
// tests/fault_control.h. All other calls pass through. Built without the project's libraries, so
// that the library does as little as possible.

#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>

#include "fault_control.h"

namespace {

using cairn::test::FaultCall;
using cairn::test::FaultControl;

// A failing write transfers this many bytes first, as on a device that fills up.
constexpr size_t kHalfwayBytes = 4096;

FaultControl* MapControl() {
  const char* path = getenv(cairn::test::kFaultControlVariable);
  if (path == nullptr) return nullptr;
  const auto file = static_cast<int>(syscall(SYS_openat, AT_FDCWD, path, O_RDWR | O_CLOEXEC));
  if (file < 0) return nullptr;
  void* page = mmap(nullptr, sizeof(FaultControl), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  syscall(SYS_close, file);
  return page == MAP_FAILED ? nullptr : static_cast<FaultControl*>(page);
}

// Returns nullptr if no faults are configured.
FaultControl* Control() {
  static FaultControl* const control = MapControl();
  return control;
}

template <typename Function>
Function* Next(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

bool IsBelow(const char* path) {
  const char* folder = Control()->folder.data();
  const size_t length = strlen(folder);
  if (length == 0 || strncmp(path, folder, length) != 0) return false;
  return path[length] == '\0' || path[length] == '/';
}

// Returns whether the call shall fail, and sets errno.
bool Fails(FaultCall which, const char* path) {
  if (Control() == nullptr || path == nullptr) return false;
  FaultControl::Call& call = Control()->calls[static_cast<size_t>(which)];
  if ((call.error == 0 && call.hangs == 0) || !IsBelow(path)) return false;
  if (call.hangs != 0) ++call.held;
  while (call.hangs != 0) {
    constexpr timespec kPause = {0, 2'000'000};
    nanosleep(&kPause, nullptr);
  }
  if (call.error == 0 || call.good.fetch_sub(1) > 0) return false;
  ++call.failed;
  errno = call.error;
  return true;
}

bool MayFail(FaultCall which) {
  if (Control() == nullptr) return false;
  const FaultControl::Call& call = Control()->calls[static_cast<size_t>(which)];
  return call.error != 0 || call.hangs != 0;
}

// The path of an open file.
struct PathOf {
  explicit PathOf(int file) {
    char link[64];
    snprintf(link, sizeof(link), "/proc/self/fd/%d", file);
    const ssize_t length = readlink(link, text, sizeof(text) - 1);
    text[length < 0 ? 0 : length] = '\0';
  }
  char text[4096];
};

bool Fails(FaultCall which, int file) {
  return MayFail(which) && Fails(which, PathOf(file).text);
}

int64_t ReadBytesPerSecond(int file) {
  if (Control() != nullptr) {
    const int64_t rate = Control()->read_bytes_per_s;
    return rate != 0 && IsBelow(PathOf(file).text) ? rate : 0;
  }
  static const char* const text = getenv(cairn::test::kFaultReadVariable);
  static const int64_t rate = text == nullptr ? 0 : strtoll(text, nullptr, 10) << 20;
  return rate;
}

int64_t MonotonicNs() {
  timespec now = {};
  syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1'000'000'000 + now.tv_nsec;
}

// Returns when a disk of this rate would have read the bytes, behind all reads before.
void WaitForDisk(int file, ssize_t bytes) {
  const int64_t rate = bytes > 0 ? ReadBytesPerSecond(file) : 0;
  if (rate == 0) return;
  static std::atomic<int64_t> free_at_ns = 0;
  int64_t before = free_at_ns;
  int64_t end_ns = 0;
  do {
    const int64_t now = MonotonicNs();
    end_ns = (before > now ? before : now) + bytes * 1'000'000'000 / rate;
  } while (!free_at_ns.compare_exchange_weak(before, end_ns));
  const timespec until = {end_ns / 1'000'000'000, end_ns % 1'000'000'000};
  while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, nullptr) == EINTR) {
  }
}

int OpenAt(int folder, const char* path, int flags, mode_t mode) {
  const bool writes = (flags & O_ACCMODE) != O_RDONLY;
  if (Fails(writes ? FaultCall::kCreate : FaultCall::kOpen, path)) return -1;
  return static_cast<int>(syscall(SYS_openat, folder, path, flags, mode));
}

bool IsWallClock(clockid_t clock) {
  return clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE;
}

}  // namespace

// NOLINTBEGIN(readability-identifier-naming): the names are the system's.
extern "C" {

int open(const char* path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  const auto mode = static_cast<mode_t>((flags & O_CREAT) != 0 ? va_arg(rest, int) : 0);
  va_end(rest);
  return OpenAt(AT_FDCWD, path, flags, mode);
}

int open64(const char* path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  const auto mode = static_cast<mode_t>((flags & O_CREAT) != 0 ? va_arg(rest, int) : 0);
  va_end(rest);
  return OpenAt(AT_FDCWD, path, flags, mode);
}

ssize_t write(int file, const void* bytes, size_t size) {
  if (MayFail(FaultCall::kWrite)) {
    if (size <= kHalfwayBytes) {
      if (Fails(FaultCall::kWrite, file)) return -1;
    } else {
      size = kHalfwayBytes;
    }
  }
  return syscall(SYS_write, file, bytes, size);
}

ssize_t pread(int file, void* bytes, size_t size, off_t offset) {
  if (Fails(FaultCall::kRead, file)) return -1;
  const ssize_t got = syscall(SYS_pread64, file, bytes, size, offset);
  WaitForDisk(file, got);
  return got;
}

int fsync(int file) {
  if (Fails(FaultCall::kSync, file)) return -1;
  return static_cast<int>(syscall(SYS_fsync, file));
}

int rename(const char* from, const char* to) noexcept {
  if (Fails(FaultCall::kRename, from)) return -1;
  static const auto next = Next<int(const char*, const char*)>("rename");
  return next(from, to);
}

int remove(const char* path) noexcept {
  if (Fails(FaultCall::kRemove, path)) return -1;
  static const auto next = Next<int(const char*)>("remove");
  return next(path);
}

DIR* opendir(const char* path) {
  if (Fails(FaultCall::kList, path)) return nullptr;
  static const auto next = Next<DIR*(const char*)>("opendir");
  return next(path);
}

int statvfs(const char* path, struct statvfs* device) noexcept {
  static const auto next = Next<int(const char*, struct statvfs*)>("statvfs");
  const int returned = next(path, device);
  if (returned == 0 && Fails(FaultCall::kSpace, path)) device->f_bavail = 0;
  return returned;
}

int clock_gettime(clockid_t clock, timespec* now) noexcept {
  const auto returned = static_cast<int>(syscall(SYS_clock_gettime, clock, now));
  if (returned == 0 && IsWallClock(clock) && Control() != nullptr) {
    now->tv_sec += Control()->clock_s;
  }
  return returned;
}

int gettimeofday(timeval* __restrict now, void* __restrict /*zone*/) noexcept {
  timespec wall = {};
  const int returned = clock_gettime(CLOCK_REALTIME, &wall);
  now->tv_sec = wall.tv_sec;
  now->tv_usec = wall.tv_nsec / 1000;
  return returned;
}

time_t time(time_t* now) noexcept {
  timespec wall = {};
  clock_gettime(CLOCK_REALTIME, &wall);
  if (now != nullptr) *now = wall.tv_sec;
  return wall.tv_sec;
}

}  // extern "C"
// NOLINTEND(readability-identifier-naming)
