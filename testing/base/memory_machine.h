// The parts of MemoryFs (testing/base/memory_fs.h): a machine with its files, and the processes on
// it.

#ifndef CAIRN_TESTING_BASE_MEMORY_MACHINE_H_
#define CAIRN_TESTING_BASE_MEMORY_MACHINE_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "testing/base/memory_fs.h"

namespace cairn::memory {

// Returns an error worded as RealFs words it; without `what`, the text that belongs to the code.
tl::unexpected<Error> Refuse(const std::string& path, ErrorCode code, const char* what = nullptr);

// Returns the path without a trailing '/' and without doubled ones.
std::string Plain(const std::string& path);

struct Place {
  std::string folder;
  std::string name;
};
Place PlaceOf(const std::string& path);

struct File {
  Bytes bytes;
  size_t synced = 0;  // number of bytes on the device
  bool lost = false;  // a Sync was refused: the rest never reaches the device
  size_t names = 0;   // number of names that lead to the file now
  int64_t time_ns = 0;
  int64_t synced_time_ns = 0;
};
using FilePointer = std::shared_ptr<File>;
using Names = std::map<std::string, FilePointer>;

// A change to the names of a folder that is not on the device yet.
struct Change {
  std::string gone;  // empty: none
  std::string come;  // empty: none
  FilePointer file;  // the file of the name that came
};

struct Folder {
  Names now = {};
  Names durable = {};
  std::vector<Change> changes = {};  // lead from `durable` to `now`
};

// The faults and calls of a process. Guarded by its machine's mutex.
struct Process {
  struct Fault {
    FsCall call = FsCall::kCount;  // kCount: any call
    bool always = false;
    uint64_t number = 0;  // counts down; 0: expired
    ErrorCode code = ErrorCode::kInternal;
    bool kills = false;
  };

  // Counts the call and returns the error that it must fail with, if any.
  std::optional<ErrorCode> Meet(FsCall call);

  std::vector<Fault> faults;
  std::function<void(FsCall, const std::string&)> hook;
  std::array<uint64_t, static_cast<size_t>(FsCall::kCount)> calls = {};
  bool dead = false;
};

// The files, folders and locks. Everything but `mutex` is guarded by it; callers hold it.
struct Machine {
  struct Held {
    FilePointer file;
    const Process* process = nullptr;
    uint64_t number = 0;
  };

  Machine() { folders["/"]; }

  // Returns null if there is no such folder.
  Folder* FindFolder(const std::string& path);
  // Returns null if there is no such file.
  FilePointer Find(const std::string& path);
  // The names of the folders in a folder.
  std::vector<std::string> FoldersIn(const std::string& path) const;
  // Returns the reason why `path` cannot hold a file, whether it exists or not. The error quotes
  // `named`.
  Status CheckPlace(const std::string& path, const std::string& named) const;
  Status CheckWritable(const std::string& named) const;

  // Makes a name lead to `file`, or removes it if `file` is null.
  void SetName(Folder* folder, const std::string& name, const FilePointer& file);
  // Creates an empty file at `path`, replacing an existing one. REQUIRES: CheckPlace.
  FilePointer Make(const std::string& path);
  // Writes as many of the bytes as there is room for, and returns their number.
  size_t Write(const FilePointer& file, ByteSpan bytes);
  // Returns false if a file is in the way.
  bool MakeFolders(const std::string& path);
  void RemoveFolder(const std::string& path);
  // Releases the locks of a process.
  void Unlock(const Process* process);
  // Returns the machine after a power loss and reboot.
  std::shared_ptr<Machine> Survivor(uint64_t seed) const;

  std::mutex mutex;
  std::map<std::string, Folder> folders;  // by absolute path
  std::vector<Held> locks;
  uint64_t locks_made = 0;
  uint64_t capacity = uint64_t{1} << 40;
  uint64_t used = 0;
  int64_t now_ns = 1'700'000'000'000'000'000;
  bool read_only = false;
  bool dead = false;
};

}  // namespace cairn::memory

#endif  // CAIRN_TESTING_BASE_MEMORY_MACHINE_H_
