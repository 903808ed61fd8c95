#include "testing/base/memory_machine.h"

#include <algorithm>
#include <random>
#include <utility>

#include "base/check.h"

namespace cairn::memory {
namespace {

using Random = std::mt19937_64;

// The results of the standard distributions differ by library; these do not.
uint64_t Below(Random* random, uint64_t limit) {
  return (*random)() % limit;
}

bool Toss(Random* random) {
  return Below(random, 2) == 1;
}

void Apply(const Change& change, Names* names) {
  if (!change.gone.empty()) names->erase(change.gone);
  if (!change.come.empty()) (*names)[change.come] = change.file;
}

// Returns the names of a folder that survive a crash: those of a journal that ends somewhere, or of
// blocks that were written in any order.
Names SurvivingNames(const Folder& folder, Random* random) {
  Names names = folder.durable;
  const bool in_order = Toss(random);
  const size_t kept = Below(random, folder.changes.size() + 1);
  for (size_t i = 0; i < folder.changes.size(); ++i) {
    if (in_order ? i < kept : Toss(random)) Apply(folder.changes[i], &names);
  }
  return names;
}

FilePointer SurvivingFile(const File& file, Random* random) {
  auto survivor = std::make_shared<File>(file);
  Bytes& bytes = survivor->bytes;
  // The unsynced bytes are lost, survive in part or in full, or the file keeps its size with zeros
  // or garbage from some offset on.
  const uint64_t fate = Below(random, 5);
  const size_t front = file.synced + Below(random, bytes.size() - file.synced + 1);
  if (fate == 0) bytes.resize(file.synced);
  if (fate == 1) bytes.resize(front);
  for (size_t i = front; i < bytes.size() && fate >= 3; ++i) {
    bytes[i] = fate == 3 ? uint8_t{0} : static_cast<uint8_t>(Below(random, 256));
  }
  if (Toss(random)) survivor->time_ns = file.synced_time_ns;
  survivor->synced = bytes.size();
  survivor->lost = false;
  survivor->names = 0;
  survivor->synced_time_ns = survivor->time_ns;
  return survivor;
}

const char* Words(ErrorCode code) {
  switch (code) {
    case ErrorCode::kNotFound:
      return "No such file or directory";
    case ErrorCode::kNoSpace:
      return "No space left on device";
    case ErrorCode::kUnavailable:
      return "Permission denied";
    default:
      return "Input/output error";
  }
}

}  // namespace

tl::unexpected<Error> Refuse(const std::string& path, ErrorCode code, const char* what) {
  return Fail(code, "\"" + path + "\": " + (what == nullptr ? Words(code) : what));
}

std::string Plain(const std::string& path) {
  std::string plain;
  for (const char c : path) {
    if (c != '/' || plain.empty() || plain.back() != '/') plain += c;
  }
  if (plain.size() > 1 && plain.back() == '/') plain.pop_back();
  return plain;
}

Place PlaceOf(const std::string& path) {
  const std::string plain = Plain(path);
  const size_t slash = plain.find_last_of('/');
  if (slash == std::string::npos) return {"/", plain};
  return {slash == 0 ? "/" : plain.substr(0, slash), plain.substr(slash + 1)};
}

std::optional<ErrorCode> Process::Meet(FsCall call) {
  ++calls[static_cast<size_t>(call)];
  std::optional<ErrorCode> met;
  for (Fault& fault : faults) {
    if (fault.call != FsCall::kCount && fault.call != call) continue;
    const bool now = fault.always || fault.number == 1;
    if (fault.number > 0) --fault.number;
    if (!now) continue;
    met = fault.code;
    dead = dead || fault.kills;
  }
  return met;
}

Folder* Machine::FindFolder(const std::string& path) {
  const auto found = folders.find(Plain(path));
  return found == folders.end() ? nullptr : &found->second;
}

FilePointer Machine::Find(const std::string& path) {
  const Place place = PlaceOf(path);
  const Folder* const folder = FindFolder(place.folder);
  if (folder == nullptr) return nullptr;
  const auto found = folder->now.find(place.name);
  return found == folder->now.end() ? nullptr : found->second;
}

std::vector<std::string> Machine::FoldersIn(const std::string& path) const {
  std::vector<std::string> names;
  for (const auto& [other, unused] : folders) {
    const Place place = PlaceOf(other);
    if (other != "/" && place.folder == Plain(path)) names.push_back(place.name);
  }
  return names;
}

Status Machine::CheckPlace(const std::string& path, const std::string& named) const {
  if (folders.contains(Plain(path))) return Refuse(named, ErrorCode::kInternal, "Is a directory");
  if (!folders.contains(PlaceOf(path).folder)) return Refuse(named, ErrorCode::kNotFound);
  return CheckWritable(named);
}

Status Machine::CheckWritable(const std::string& named) const {
  if (!read_only) return {};
  return Refuse(named, ErrorCode::kUnavailable, "Read-only file system");
}

void Machine::SetName(Folder* folder, const std::string& name, const FilePointer& file) {
  if (file != nullptr && file->names++ == 0) used += file->bytes.size();
  FilePointer& place = folder->now[name];
  if (place != nullptr && --place->names == 0) used -= place->bytes.size();
  place = file;
  if (file == nullptr) folder->now.erase(name);
}

FilePointer Machine::Make(const std::string& path) {
  const Place place = PlaceOf(path);
  Folder* const folder = FindFolder(place.folder);
  CHECK(folder != nullptr);
  auto file = std::make_shared<File>();
  file->time_ns = now_ns;
  file->synced_time_ns = now_ns;
  SetName(folder, place.name, file);
  folder->changes.push_back({"", place.name, file});
  return file;
}

size_t Machine::Write(const FilePointer& file, ByteSpan bytes) {
  const uint64_t room = capacity - std::min(capacity, used);
  const ByteSpan taken = bytes.first(std::min<uint64_t>(room, bytes.size()));
  file->bytes.insert(file->bytes.end(), taken.begin(), taken.end());
  if (file->names > 0) used += taken.size();
  file->time_ns = now_ns;
  return taken.size();
}

bool Machine::MakeFolders(const std::string& path) {
  const std::string plain = Plain(path);
  size_t slash = 0;
  while (slash != std::string::npos) {
    slash = plain.find('/', slash + 1);
    const std::string folder = plain.substr(0, slash);
    if (Find(folder) != nullptr) return false;
    folders[folder];
  }
  return true;
}

void Machine::RemoveFolder(const std::string& path) {
  const std::string plain = Plain(path);
  for (auto& [other, folder] : folders) {
    if (other != plain && !other.starts_with(plain + "/")) continue;
    const Names names = folder.now;
    for (const auto& [name, file] : names) SetName(&folder, name, nullptr);
  }
  std::erase_if(folders, [&](const auto& other) {
    return other.first == plain || other.first.starts_with(plain + "/");
  });
}

void Machine::Unlock(const Process* process) {
  std::erase_if(locks, [&](const Held& held) { return held.process == process; });
}

std::shared_ptr<Machine> Machine::Survivor(uint64_t seed) const {
  Random random(seed);
  auto survivor = std::make_shared<Machine>();
  std::map<const File*, FilePointer> files;
  for (const auto& [path, folder] : folders) {
    Folder& copy = survivor->folders[path];
    for (const auto& [name, file] : SurvivingNames(folder, &random)) {
      FilePointer& same = files[file.get()];
      if (same == nullptr) same = SurvivingFile(*file, &random);
      survivor->SetName(&copy, name, same);
    }
    copy.durable = copy.now;
  }
  survivor->capacity = capacity;
  survivor->now_ns = now_ns;
  survivor->read_only = read_only;
  return survivor;
}

}  // namespace cairn::memory
