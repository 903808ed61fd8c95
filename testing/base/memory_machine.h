// What MemoryFs (testing/base/memory_fs.h) consists of: a machine with its files, and the processes
// on it.

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

// As RealFs says it; without `what`, what goes with the code.
tl::unexpected<Error> Refuse(const std::string& path, ErrorCode code, const char* what = nullptr);

// Without '/' at its end and without two in a row.
std::string Plain(const std::string& path);

struct Place {
  std::string folder;
  std::string name;
};
Place PlaceOf(const std::string& path);

struct File {
  Bytes bytes;
  size_t synced = 0;  // so many of them are on the device
  bool lost = false;  // a Sync was refused: the rest never gets there
  size_t names = 0;   // that lead to it now
  int64_t time_ns = 0;
  int64_t synced_time_ns = 0;
};
using FilePointer = std::shared_ptr<File>;
using Names = std::map<std::string, FilePointer>;

// Something that happened to the names of a folder and is not on the device yet.
struct Change {
  std::string gone;  // empty: none
  std::string come;  // empty: none
  FilePointer file;  // that the name that came leads to
};

struct Folder {
  Names now = {};
  Names durable = {};
  std::vector<Change> changes = {};  // lead from `durable` to `now`
};

// Faults of a process, and what it asked. Guarded by its machine's mutex.
struct Process {
  struct Fault {
    FsCall call = FsCall::kCount;  // kCount: any
    bool always = false;
    uint64_t number = 0;  // counts down; 0: it is over
    ErrorCode code = ErrorCode::kInternal;
    bool kills = false;
  };

  // What a call meets, if anything.
  std::optional<ErrorCode> Meet(FsCall call);

  std::vector<Fault> faults;
  std::function<void(FsCall, const std::string&)> hook;
  std::array<uint64_t, static_cast<size_t>(FsCall::kCount)> calls = {};
  bool dead = false;
};

// The files and folders, and what is locked. All but `mutex` is guarded by it; whoever calls holds
// it.
struct Machine {
  struct Held {
    FilePointer file;
    const Process* process = nullptr;
    uint64_t number = 0;
  };

  Machine() { folders["/"]; }

  // Null: no such folder.
  Folder* FindFolder(const std::string& path);
  // Null: no such file.
  FilePointer Find(const std::string& path);
  // Names of the folders in a folder.
  std::vector<std::string> FoldersIn(const std::string& path) const;
  // What stands in the way of a file at `path`, be it there already or not. `named`: in the error.
  Status CheckPlace(const std::string& path, const std::string& named) const;
  Status CheckWritable(const std::string& named) const;

  // Lets a name lead to `file`; null: to nothing, it is gone.
  void SetName(Folder* folder, const std::string& name, const FilePointer& file);
  // A new file at `path`, in place of one that is there. REQUIRES: CheckPlace.
  FilePointer Make(const std::string& path);
  // As many of the bytes as there is room for.
  size_t Write(const FilePointer& file, ByteSpan bytes);
  // False: a file is in the way.
  bool MakeFolders(const std::string& path);
  void RemoveFolder(const std::string& path);
  // Frees the locks of a process.
  void Unlock(const Process* process);
  // What is found when power is back.
  std::shared_ptr<Machine> Survivor(uint64_t seed) const;

  std::mutex mutex;
  std::map<std::string, Folder> folders;  // by their whole paths
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
