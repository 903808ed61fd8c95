#include "store/disk/disk_folder.h"

#include <unistd.h>

#include <utility>

#include "base/check.h"
#include "base/hash.h"
#include "store/disk/disk_files.h"
#include "store/object_rank.h"

namespace cairn {
namespace {

// Distinguishes the hosts that share a folder, whose processes may have the same number, and the
// stores of one process.
std::string TempPrefix(const void* store, int64_t now_ns) {
  const auto process = static_cast<uint64_t>(getpid());
  const uint64_t unique =
      HashMix(HashMix(process, reinterpret_cast<uintptr_t>(store)), static_cast<uint64_t>(now_ns));
  return std::string(kTempPrefix) + std::to_string(process) + "-" + std::to_string(unique) + "-";
}

}  // namespace

DiskFolder::DiskFolder(Fs* fs, const DiskStoreOptions& options, DiskTrouble* trouble,
                       std::function<bool()> stopped)
    : fs_(fs),
      options_(options),
      own_model_(ToText(options.fingerprint)),
      temp_prefix_(TempPrefix(this, options.now_ns())),
      trouble_(trouble),
      stopped_(std::move(stopped)) {
  CHECK(options_.half_life_s > 0);
}

std::string DiskFolder::PathOf(const std::string& model) const {
  return options_.folder + "/" + model;
}

std::string DiskFolder::PathOf(const std::string& model, const ObjectName& name) const {
  return PathOf(model) + "/" + ObjectFileName(name);
}

void DiskFolder::Forget(const std::string& model, const ObjectName& name) {
  const DiskEntry* const entry = index_.Find(model, name);
  if (entry == nullptr) return;
  const bool told = model == own_model_ && untold_names_.erase(name) == 0;
  if (entry->good && told) news_.gone.push_back(name);
  index_.Erase(model, name);
}

void DiskFolder::ForgetModel(const std::string& model) {
  for (const ObjectName& name : index_.NamesOf(model)) {
    const bool told = model == own_model_ && untold_names_.erase(name) == 0;
    if (index_.Find(model, name)->good && told) news_.vanished.push_back(name);
    index_.Erase(model, name);
  }
}

void DiskFolder::LeaveToNewer(const ObjectName& name) {
  Forget(own_model_, name);
  const Result<FileStat> stat = fs_->Stat(PathOf(own_model_, name));
  if (stat) index_.Put(DiskIndex::NewerEntry(own_model_, name, *stat));
}

void DiskFolder::Remove(const ObjectName& name) {
  if (IsNewer(*fs_, PathOf(own_model_, name))) return LeaveToNewer(name);
  const Status removed = fs_->Remove(PathOf(own_model_, name));
  if (removed || removed.error().code == ErrorCode::kNotFound) {
    Forget(own_model_, name);
  } else {
    trouble_->Note(removed.error());
  }
}

void DiskFolder::Lost(const ObjectName& name) {
  const Result<WholeObject> object = ReadWholeObject(*fs_, PathOf(own_model_), name);
  if (object) {
    Forget(own_model_, name);
    AddFound(own_model_, name);
    return;
  }
  const ErrorCode why = object.error().code;
  const bool other = why != ErrorCode::kNotFound && why != ErrorCode::kUnsupported;
  if (other && why != ErrorCode::kCorrupt) return trouble_->Note(object.error());
  Remove(name);
}

void DiskFolder::Touch(const DiskQueue::Touches& touches) {
  for (const auto& [name, uses] : touches) {
    if (stopped_()) return;
    if (index_.Find(own_model_, name) == nullptr) continue;
    const std::string path = PathOf(own_model_, name);
    // Another process may have used it since the last scan.
    const Result<FileStat> stat = fs_->Stat(path);
    if (!stat) {
      trouble_->Note(stat.error());
      if (stat.error().code == ErrorCode::kNotFound) Forget(own_model_, name);
      continue;
    }
    const int64_t time_ns =
        TimeAfterUses(stat->time_ns, options_.now_ns(), uses, options_.half_life_s);
    const Status set = fs_->SetTime(path, time_ns);
    if (!set) trouble_->Note(set.error());
    index_.SetTime(own_model_, name, set ? time_ns : stat->time_ns);
  }
}

DiskStore::News DiskFolder::TakeNews() {
  return std::exchange(news_, {});
}

}  // namespace cairn
