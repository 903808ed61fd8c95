// For tests: MemoryFs, a file system in memory that can fail in every way that a real one can.
//
// It tracks what is on the device and what is not yet: the bytes of a file up to its last Sync, and
// the names in a folder as of its last SyncFolder. Crash() simulates a power loss: unsynced bytes
// are gone, or a prefix of them survives, or garbage replaces them; of unsynced name changes each
// one survives or is lost independently.
//
//   MemoryFs fs;                                 a machine, and one process on it
//   auto other = fs.AnotherProcess();            the same files, locks that exclude ours
//   fs.Fail(FsCall::kRename, 2, kInternal);      our second rename from now on fails
//   fs.Kill();                                   as kill -9; `other` continues
//   auto after = fs.Crash(seed);                 the state after the reboot; the others are dead
//
// Not simulated: folders are durable at once and cannot be renamed, and there are no links.
//
// Threads: any. Objects that it makes (writers, locks, other processes) may outlive it.

#ifndef CAIRN_TESTING_BASE_MEMORY_FS_H_
#define CAIRN_TESTING_BASE_MEMORY_FS_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/fs.h"

namespace cairn {

namespace memory {
struct Machine;
struct Process;
}  // namespace memory

enum class FsCall {
  kList,
  kStat,
  kMakeFolders,
  kCreate,
  kAppend,
  kSync,
  kClose,
  kRead,
  kRename,
  kRemove,
  kSetTime,
  kSyncFolder,
  kSpaceOf,
  kTryLock,
  kCount
};

class MemoryFs final : public Fs {
 public:
  MemoryFs();
  ~MemoryFs() override;

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

  // Returns a process on the same machine. Calls, faults and Kill() apply to each process
  // separately.
  std::unique_ptr<MemoryFs> AnotherProcess();
  // Ends this process: its locks are released, and its calls fail and change nothing.
  void Kill();
  // Ends all processes and loses unsynced data, as determined by `seed`. Returns the first process
  // on the restarted machine; it sees the surviving data, all of it synced, and has no faults.
  std::unique_ptr<MemoryFs> Crash(uint64_t seed);

  // Faults of this process. The first call from now on is number 1. A refused Append has written a
  // prefix of its bytes. After a refused Sync the file's unsynced bytes never reach the device,
  // though the next Sync reports success, as on Linux. Any other refused call did nothing.
  void Fail(uint64_t number, ErrorCode code);
  void Fail(FsCall call, uint64_t number, ErrorCode code);
  void FailAll(ErrorCode code);
  void FailAll(FsCall call, ErrorCode code);
  // Kills the process in the middle of that call.
  void KillAt(uint64_t number);
  void ClearFaults();
  // Called before each of this process's calls, without a lock held, so that a test can do between
  // two calls what another process might. For a rename, `path` is the source.
  void OnCall(std::function<void(FsCall call, const std::string& path)> hook);
  uint64_t calls() const;
  uint64_t calls(FsCall call) const;

  // The following functions affect the machine, and so all processes.
  void SetCapacity(uint64_t bytes);  // limit for the size of all files
  void SetReadOnly(bool read_only);
  // Sets the time that changes get from now on, in nanoseconds since 1970.
  void SetNow(int64_t now_ns);
  int64_t now_ns() const;

  // Damages a file as a failing device or a person might. The change is on the device at once and
  // does not count as a call. REQUIRES: the file exists and is long enough.
  void FlipBit(const std::string& path, uint64_t bit);
  void Truncate(const std::string& path, uint64_t bytes);
  // Creates the file, and its folders if necessary.
  void Put(const std::string& path, ByteSpan bytes);
  // Removes the folder with its content. Does nothing if it does not exist.
  void RemoveFolder(const std::string& folder);

  // The absolute paths of all files, sorted.
  std::vector<std::string> Files() const;
  uint64_t bytes() const;           // size of all files
  uint64_t unsynced_bytes() const;  // the part of bytes() that a crash may lose

 private:
  class Writer;
  class Lock;
  class Turn;

  MemoryFs(std::shared_ptr<memory::Machine> machine, std::shared_ptr<memory::Process> process);

  const std::shared_ptr<memory::Machine> machine_;
  const std::shared_ptr<memory::Process> process_;
};

}  // namespace cairn

#endif  // CAIRN_TESTING_BASE_MEMORY_FS_H_
