#include "testing/base/memory_fs.h"

#include <algorithm>
#include <mutex>
#include <optional>
#include <utility>

#include "base/check.h"
#include "testing/base/memory_machine.h"

namespace cairn {

using memory::File;
using memory::FilePointer;
using memory::Folder;
using memory::Machine;
using memory::Place;
using memory::PlaceOf;
using memory::Process;
using memory::Refuse;

// Each call of a process begins with a Turn, which locks the machine until it is destroyed.
class MemoryFs::Turn {
 public:
  Turn(Machine* machine, Process* process, FsCall call, const std::string& path) {
    std::function<void(FsCall, const std::string&)> hook;
    {
      const std::lock_guard<std::mutex> lock(machine->mutex);
      hook = process->hook;
    }
    if (hook) hook(call, path);
    lock_ = std::unique_lock<std::mutex>(machine->mutex);
    alive_ = !machine->dead && !process->dead;
    const std::optional<ErrorCode> met =
        alive_ ? process->Meet(call) : std::optional(ErrorCode::kUnavailable);
    if (process->dead) machine->Unlock(process);
    if (met.has_value()) allowed_ = Refuse(path, *met);
  }

  const Status& allowed() const { return allowed_; }
  // Whether the process was alive when the call began.
  bool alive() const { return alive_; }

 private:
  std::unique_lock<std::mutex> lock_;
  bool alive_ = true;
  Status allowed_ = {};
};

class MemoryFs::Writer final : public FileWriter {
 public:
  Writer(std::shared_ptr<Machine> machine, std::shared_ptr<Process> process, std::string path,
         FilePointer file)
      : machine_(std::move(machine)),
        process_(std::move(process)),
        path_(std::move(path)),
        file_(std::move(file)) {}

  Status Append(ByteSpan bytes) override {
    CHECK(open_);
    const Turn turn(machine_.get(), process_.get(), FsCall::kAppend, path_);
    if (!turn.allowed()) {
      if (turn.alive()) machine_->Write(file_, bytes.first(bytes.size() / 2));
      return turn.allowed();
    }
    if (Status writable = machine_->CheckWritable(path_); !writable) return writable;
    if (machine_->Write(file_, bytes) < bytes.size()) return Refuse(path_, ErrorCode::kNoSpace);
    return {};
  }

  Status Sync() override {
    CHECK(open_);
    const Turn turn(machine_.get(), process_.get(), FsCall::kSync, path_);
    if (!turn.allowed()) {
      file_->lost = file_->lost || turn.alive();
      return turn.allowed();
    }
    if (!file_->lost) file_->synced = file_->bytes.size();
    file_->synced_time_ns = file_->time_ns;
    return {};
  }

  Status Close() override {
    CHECK(open_);
    open_ = false;
    return Turn(machine_.get(), process_.get(), FsCall::kClose, path_).allowed();
  }

 private:
  const std::shared_ptr<Machine> machine_;
  const std::shared_ptr<Process> process_;
  const std::string path_;
  const FilePointer file_;
  bool open_ = true;
};

class MemoryFs::Lock final : public FileLock {
 public:
  Lock(std::shared_ptr<Machine> machine, uint64_t number)
      : machine_(std::move(machine)), number_(number) {}
  ~Lock() override {
    const std::lock_guard<std::mutex> lock(machine_->mutex);
    std::erase_if(machine_->locks, [&](const auto& held) { return held.number == number_; });
  }

 private:
  const std::shared_ptr<Machine> machine_;
  const uint64_t number_;
};

MemoryFs::MemoryFs() : MemoryFs(std::make_shared<Machine>(), std::make_shared<Process>()) {}

MemoryFs::MemoryFs(std::shared_ptr<Machine> machine, std::shared_ptr<Process> process)
    : machine_(std::move(machine)), process_(std::move(process)) {}

MemoryFs::~MemoryFs() = default;

Result<std::vector<std::string>> MemoryFs::List(const std::string& folder) const {
  const Turn turn(machine_.get(), process_.get(), FsCall::kList, folder);
  if (!turn.allowed()) return tl::unexpected(turn.allowed().error());
  const Folder* const found = machine_->FindFolder(folder);
  if (found == nullptr) return Refuse(folder, ErrorCode::kNotFound);
  std::vector<std::string> names;
  for (const auto& [name, file] : found->now) names.push_back(name);
  for (std::string& name : machine_->FoldersIn(folder)) names.push_back(std::move(name));
  return names;
}

Result<FileStat> MemoryFs::Stat(const std::string& path) const {
  const Turn turn(machine_.get(), process_.get(), FsCall::kStat, path);
  if (!turn.allowed()) return tl::unexpected(turn.allowed().error());
  if (machine_->FindFolder(path) != nullptr) return FileStat{4096, machine_->now_ns};
  const FilePointer file = machine_->Find(path);
  if (file == nullptr) return Refuse(path, ErrorCode::kNotFound);
  return FileStat{file->bytes.size(), file->time_ns};
}

Status MemoryFs::MakeFolders(const std::string& folder) {
  const Turn turn(machine_.get(), process_.get(), FsCall::kMakeFolders, folder);
  if (!turn.allowed()) return turn.allowed();
  if (machine_->FindFolder(folder) != nullptr) return {};
  if (Status writable = machine_->CheckWritable(folder); !writable) return writable;
  if (machine_->MakeFolders(folder)) return {};
  return Refuse(folder, ErrorCode::kNotFound, "Not a directory");
}

Result<std::unique_ptr<FileWriter>> MemoryFs::Create(const std::string& path) {
  const Turn turn(machine_.get(), process_.get(), FsCall::kCreate, path);
  if (!turn.allowed()) return tl::unexpected(turn.allowed().error());
  if (Status free = machine_->CheckPlace(path, path); !free) return tl::unexpected(free.error());
  return std::make_unique<Writer>(machine_, process_, path, machine_->Make(path));
}

Result<Bytes> MemoryFs::Read(const std::string& path, uint64_t offset, uint64_t size) const {
  const Turn turn(machine_.get(), process_.get(), FsCall::kRead, path);
  if (!turn.allowed()) return tl::unexpected(turn.allowed().error());
  if (machine_->FindFolder(path) != nullptr) {
    return Refuse(path, ErrorCode::kInternal, "Is a directory");
  }
  const FilePointer file = machine_->Find(path);
  if (file == nullptr) return Refuse(path, ErrorCode::kNotFound);
  const ByteSpan bytes = file->bytes;
  if (offset >= bytes.size()) return Bytes();
  const ByteSpan wanted = bytes.subspan(offset, std::min(size, bytes.size() - offset));
  return Bytes(wanted.begin(), wanted.end());
}

Status MemoryFs::Rename(const std::string& from, const std::string& to) {
  const Turn turn(machine_.get(), process_.get(), FsCall::kRename, from);
  if (!turn.allowed()) return turn.allowed();
  CHECK(machine_->FindFolder(from) == nullptr);  // not simulated
  const FilePointer file = machine_->Find(from);
  if (file == nullptr) return Refuse(from, ErrorCode::kNotFound);
  if (Status free = machine_->CheckPlace(to, from); !free) return free;
  const Place old_place = PlaceOf(from);
  const Place new_place = PlaceOf(to);
  Folder* const old_folder = machine_->FindFolder(old_place.folder);
  Folder* const new_folder = machine_->FindFolder(new_place.folder);
  if (machine_->Find(to) == file) return {};
  machine_->SetName(new_folder, new_place.name, file);
  machine_->SetName(old_folder, old_place.name, nullptr);
  if (old_folder == new_folder) {
    new_folder->changes.push_back({old_place.name, new_place.name, file});
  } else {
    new_folder->changes.push_back({"", new_place.name, file});
    old_folder->changes.push_back({old_place.name, "", nullptr});
  }
  return {};
}

Status MemoryFs::Remove(const std::string& path) {
  const Turn turn(machine_.get(), process_.get(), FsCall::kRemove, path);
  if (!turn.allowed()) return turn.allowed();
  if (Status writable = machine_->CheckWritable(path); !writable) return writable;
  if (const Folder* const folder = machine_->FindFolder(path); folder != nullptr) {
    if (!folder->now.empty() || !machine_->FoldersIn(path).empty()) {
      return Refuse(path, ErrorCode::kInternal, "Directory not empty");
    }
    machine_->RemoveFolder(path);
    return {};
  }
  if (machine_->Find(path) == nullptr) return Refuse(path, ErrorCode::kNotFound);
  const Place place = PlaceOf(path);
  Folder* const folder = machine_->FindFolder(place.folder);
  machine_->SetName(folder, place.name, nullptr);
  folder->changes.push_back({place.name, "", nullptr});
  return {};
}

Status MemoryFs::SetTime(const std::string& path, int64_t time_ns) {
  const Turn turn(machine_.get(), process_.get(), FsCall::kSetTime, path);
  if (!turn.allowed()) return turn.allowed();
  const FilePointer file = machine_->Find(path);
  if (file == nullptr) return Refuse(path, ErrorCode::kNotFound);
  if (Status writable = machine_->CheckWritable(path); !writable) return writable;
  file->time_ns = time_ns;
  return {};
}

Status MemoryFs::SyncFolder(const std::string& folder) {
  const Turn turn(machine_.get(), process_.get(), FsCall::kSyncFolder, folder);
  if (!turn.allowed()) return turn.allowed();
  Folder* const found = machine_->FindFolder(folder);
  if (found == nullptr) return Refuse(folder, ErrorCode::kNotFound);
  found->durable = found->now;
  found->changes.clear();
  return {};
}

Result<DeviceSpace> MemoryFs::SpaceOf(const std::string& folder) const {
  const Turn turn(machine_.get(), process_.get(), FsCall::kSpaceOf, folder);
  if (!turn.allowed()) return tl::unexpected(turn.allowed().error());
  if (machine_->FindFolder(folder) == nullptr) return Refuse(folder, ErrorCode::kNotFound);
  const uint64_t used = std::min(machine_->capacity, machine_->used);
  return DeviceSpace{machine_->capacity - used, machine_->capacity};
}

Result<std::unique_ptr<FileLock>> MemoryFs::TryLock(const std::string& path) {
  const Turn turn(machine_.get(), process_.get(), FsCall::kTryLock, path);
  if (!turn.allowed()) return tl::unexpected(turn.allowed().error());
  if (Status free = machine_->CheckPlace(path, path); !free) return tl::unexpected(free.error());
  FilePointer file = machine_->Find(path);
  if (file == nullptr) file = machine_->Make(path);
  std::vector<Machine::Held>& locks = machine_->locks;
  const bool held = std::any_of(locks.begin(), locks.end(),
                                [&](const auto& other) { return other.file == file; });
  if (held) {
    return Refuse(path, ErrorCode::kUnavailable, "Resource temporarily unavailable");
  }
  const uint64_t number = ++machine_->locks_made;
  locks.push_back({file, process_.get(), number});
  return std::make_unique<Lock>(machine_, number);
}

std::unique_ptr<MemoryFs> MemoryFs::AnotherProcess() {
  return std::unique_ptr<MemoryFs>(new MemoryFs(machine_, std::make_shared<Process>()));
}

void MemoryFs::Kill() {
  const std::lock_guard<std::mutex> lock(machine_->mutex);
  process_->dead = true;
  machine_->Unlock(process_.get());
}

std::unique_ptr<MemoryFs> MemoryFs::Crash(uint64_t seed) {
  const std::lock_guard<std::mutex> lock(machine_->mutex);
  CHECK(!machine_->dead);
  machine_->dead = true;
  return std::unique_ptr<MemoryFs>(
      new MemoryFs(machine_->Survivor(seed), std::make_shared<Process>()));
}

void MemoryFs::Fail(uint64_t number, ErrorCode code) {
  Fail(FsCall::kCount, number, code);
}

void MemoryFs::Fail(FsCall call, uint64_t number, ErrorCode code) {
  CHECK(number > 0);
  const std::lock_guard<std::mutex> lock(machine_->mutex);
  process_->faults.push_back({.call = call, .number = number, .code = code});
}

void MemoryFs::FailAll(ErrorCode code) {
  FailAll(FsCall::kCount, code);
}

void MemoryFs::FailAll(FsCall call, ErrorCode code) {
  const std::lock_guard<std::mutex> lock(machine_->mutex);
  process_->faults.push_back({.call = call, .always = true, .code = code});
}

void MemoryFs::KillAt(uint64_t number) {
  CHECK(number > 0);
  const std::lock_guard<std::mutex> lock(machine_->mutex);
  process_->faults.push_back({.number = number, .code = ErrorCode::kUnavailable, .kills = true});
}

void MemoryFs::ClearFaults() {
  const std::lock_guard<std::mutex> lock(machine_->mutex);
  process_->faults.clear();
}

void MemoryFs::OnCall(std::function<void(FsCall call, const std::string& path)> hook) {
  const std::lock_guard<std::mutex> lock(machine_->mutex);
  process_->hook = std::move(hook);
}

uint64_t MemoryFs::calls() const {
  const std::lock_guard<std::mutex> lock(machine_->mutex);
  uint64_t all = 0;
  for (const uint64_t calls : process_->calls) all += calls;
  return all;
}

uint64_t MemoryFs::calls(FsCall call) const {
  const std::lock_guard<std::mutex> lock(machine_->mutex);
  return process_->calls[static_cast<size_t>(call)];
}

void MemoryFs::SetCapacity(uint64_t bytes) {
  const std::lock_guard<std::mutex> lock(machine_->mutex);
  machine_->capacity = bytes;
}

void MemoryFs::SetReadOnly(bool read_only) {
  const std::lock_guard<std::mutex> lock(machine_->mutex);
  machine_->read_only = read_only;
}

void MemoryFs::SetNow(int64_t now_ns) {
  const std::lock_guard<std::mutex> lock(machine_->mutex);
  machine_->now_ns = now_ns;
}

int64_t MemoryFs::now_ns() const {
  const std::lock_guard<std::mutex> lock(machine_->mutex);
  return machine_->now_ns;
}

void MemoryFs::FlipBit(const std::string& path, uint64_t bit) {
  const std::lock_guard<std::mutex> lock(machine_->mutex);
  const FilePointer file = machine_->Find(path);
  CHECK(file != nullptr && bit / 8 < file->bytes.size());
  uint8_t& byte = file->bytes[bit / 8];
  byte = static_cast<uint8_t>(byte ^ (1U << (bit % 8)));
}

void MemoryFs::Truncate(const std::string& path, uint64_t bytes) {
  const std::lock_guard<std::mutex> lock(machine_->mutex);
  const FilePointer file = machine_->Find(path);
  CHECK(file != nullptr && bytes <= file->bytes.size());
  machine_->used -= file->bytes.size() - bytes;
  file->bytes.resize(bytes);
  file->synced = std::min<size_t>(file->synced, bytes);
}

void MemoryFs::Put(const std::string& path, ByteSpan bytes) {
  const std::lock_guard<std::mutex> lock(machine_->mutex);
  const Place place = PlaceOf(path);
  const bool made = machine_->MakeFolders(place.folder);
  CHECK(made && machine_->FindFolder(path) == nullptr);
  auto file = std::make_shared<File>();
  file->bytes.assign(bytes.begin(), bytes.end());
  file->synced = bytes.size();
  file->time_ns = file->synced_time_ns = machine_->now_ns;
  Folder* const folder = machine_->FindFolder(place.folder);
  machine_->SetName(folder, place.name, file);
  folder->durable[place.name] = file;
}

void MemoryFs::RemoveFolder(const std::string& folder) {
  const std::lock_guard<std::mutex> lock(machine_->mutex);
  machine_->RemoveFolder(folder);
}

std::vector<std::string> MemoryFs::Files() const {
  const std::lock_guard<std::mutex> lock(machine_->mutex);
  std::vector<std::string> paths;
  for (const auto& [path, folder] : machine_->folders) {
    const std::string above = path == "/" ? path : path + "/";
    for (const auto& [name, file] : folder.now) paths.push_back(above + name);
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

uint64_t MemoryFs::bytes() const {
  const std::lock_guard<std::mutex> lock(machine_->mutex);
  return machine_->used;
}

uint64_t MemoryFs::unsynced_bytes() const {
  const std::lock_guard<std::mutex> lock(machine_->mutex);
  uint64_t unsynced = 0;
  for (const auto& [path, folder] : machine_->folders) {
    for (const auto& [name, file] : folder.now) unsynced += file->bytes.size() - file->synced;
  }
  return unsynced;
}

}  // namespace cairn
