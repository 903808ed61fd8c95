// For tests: MemoryFs, a file system in memory that can do all that goes wrong with a real one.
//
// It knows what is on the device and what is not yet: the bytes of a file up to its last Sync, and
// the names in a folder as of its last SyncFolder. Crash() loses power: bytes that were not synced
// are gone, or a front of them survives, or garbage stands in their place; names that were not
// synced are the new ones or the old ones, one by one.
//
//   MemoryFs fs;                                 a machine, and one process on it
//   auto other = fs.AnotherProcess();            the same files, locks that exclude ours
//   fs.Fail(FsCall::kRename, 2, kInternal);      our second rename from now on fails
//   fs.Kill();                                   as kill -9; `other` goes on
//   auto after = fs.Crash(seed);                 as found when power is back; the others are dead
//
// Not played: folders are made for good at once and cannot be renamed, and there are no links.
//
// Threads: any. What it makes (writers, locks, other processes) may outlive it.

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
  kFreeBytes,
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
  Result<uint64_t> FreeBytes(const std::string& folder) const override;
  Result<std::unique_ptr<FileLock>> TryLock(const std::string& path) override;

  // A process on the same machine. Calls, faults and Kill() are each one's own.
  std::unique_ptr<MemoryFs> AnotherProcess();
  // Ends this process: its locks are free, its calls fail and change nothing.
  void Kill();
  // Ends all processes and loses what was not synced, as `seed` has it. Returns a first process on
  // the machine that starts again; it holds what survived, all of it synced, and no faults.
  std::unique_ptr<MemoryFs> Crash(uint64_t seed);

  // Faults of this process. The first call from now on is number 1. A refused Append has written a
  // front of its bytes; after a refused Sync the file's unsynced bytes never reach the device,
  // though the next Sync says that they did, as on Linux; any other refused call did nothing.
  void Fail(uint64_t number, ErrorCode code);
  void Fail(FsCall call, uint64_t number, ErrorCode code);
  void FailAll(ErrorCode code);
  void FailAll(FsCall call, ErrorCode code);
  // In the midst of that call.
  void KillAt(uint64_t number);
  void ClearFaults();
  // Called before each of this process's calls, holding no lock, so that a test can do between two
  // of them what another process might. `path`: of a rename, where it comes from.
  void OnCall(std::function<void(FsCall call, const std::string& path)> hook);
  uint64_t calls() const;
  uint64_t calls(FsCall call) const;

  // The machine's, for all processes.
  void SetCapacity(uint64_t bytes);  // of all files
  void SetReadOnly(bool read_only);
  // What the time of a change is from now on, in nanoseconds since 1970.
  void SetNow(int64_t now_ns);
  int64_t now_ns() const;

  // What a failing device, or somebody, does to a file behind everybody's back; on the device at
  // once, and no call that is counted. REQUIRES: the file is there, and is that long.
  void FlipBit(const std::string& path, uint64_t bit);
  void Truncate(const std::string& path, uint64_t bytes);
  // Makes folders and file as needed.
  void Put(const std::string& path, ByteSpan bytes);
  // With all in it. Nothing happens when it is not there.
  void RemoveFolder(const std::string& folder);

  // Whole paths of all files, in order.
  std::vector<std::string> Files() const;
  uint64_t bytes() const;           // of all files
  uint64_t unsynced_bytes() const;  // of these, what a crash may lose

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
