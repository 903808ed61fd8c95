// Finding out what is in the folder: DiskFolder::Scan and its parts.

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "store/disk/disk_files.h"
#include "store/disk/disk_folder.h"

namespace cairn {
namespace {

// Memory that the header takes, tokens included.
uint64_t HeaderBytes(const ObjectHeader& header) {
  return sizeof(ObjectHeader) + header.tokens.size() * sizeof(Token);
}

}  // namespace

void DiskFolder::Scan() {
  index_.ClearStuck();
  failures_ = 0;
  stray_bytes_ = 0;
  seen_all_ = true;
  Result<std::vector<std::string>> folders = fs_->List(options_.folder);
  if (!folders) {
    trouble_->Note(folders.error());
    if (folders.error().code != ErrorCode::kNotFound) {
      seen_all_ = false;
      return;
    }
    // The first write creates the folder.
    folders.emplace();
  }
  std::set<std::string> there;
  for (const std::string& model : *folders) {
    if (!IsModelFolder(model)) continue;
    there.insert(model);
    ScanModel(model);
    if (stopped_()) return;
  }
  for (const std::string& model : index_.Models()) {
    if (there.contains(model)) continue;
    ForgetModel(model);
  }
  if (!there.contains(own_model_)) folder_made_ = false;
  std::stable_sort(untold_.begin(), untold_.end(),
                   [](const Untold& a, const Untold& b) { return a.depth < b.depth; });
  if (bytes() > options_.bytes_max) MakeRoom(nullptr);
}

void DiskFolder::ScanModel(const std::string& model) {
  const Result<std::vector<std::string>> files = fs_->List(PathOf(model));
  if (!files && files.error().code != ErrorCode::kNotFound) {
    trouble_->Note(files.error());
    // Another user's model folder is not our concern: files that we may not see do not count
    // either.
    const bool others = model != own_model_ && files.error().code == ErrorCode::kUnavailable;
    if (!others) seen_all_ = false;
    return;
  }
  std::set<ObjectName> there;
  if (files) {
    for (const std::string& file : *files) {
      if (stopped_()) return;
      if (IsTempFile(file)) ScanTemp(model, file);
      const ObjectName name = ParseObjectFileName(file);
      if (name.empty()) continue;
      there.insert(name);
      const DiskEntry* const known = index_.Find(model, name);
      if (known == nullptr || IsMended(*known)) AddFound(model, name);
    }
  }
  for (const ObjectName& name : index_.NamesOf(model)) {
    if (!there.contains(name)) Forget(model, name);
  }
}

void DiskFolder::AddFound(const std::string& model, const ObjectName& name) {
  const Result<FileStat> stat = fs_->Stat(PathOf(model, name));
  if (!stat) {
    trouble_->Note(stat.error());
    if (stat.error().code != ErrorCode::kNotFound) seen_all_ = false;
    return;
  }
  Result<Front> front = ReadFront(*fs_, PathOf(model), name, stat->bytes);
  if (front) {
    index_.Put(DiskIndex::EntryOf(front->header, name, *stat));
    if (model == own_model_) {
      found_unsynced_ = true;
      Untold untold{DiskIndex::DepthOf(front->header), name, std::nullopt};
      if (untold_bytes_ + HeaderBytes(front->header) <= options_.found_bytes_max) {
        untold_bytes_ += HeaderBytes(front->header);
        untold.header = std::move(front->header);
      }
      untold_.push_back(std::move(untold));
      untold_names_.insert(name);
    }
    return;
  }
  if (front.error().code == ErrorCode::kUnsupported) {
    // Not an error: the file belongs to another version that shares the folder.
    index_.Put(DiskIndex::NewerEntry(model, name, *stat));
    return;
  }
  trouble_->Note(front.error());
  if (front.error().code == ErrorCode::kCorrupt) {
    index_.Put(DiskIndex::BadEntry(model, name, *stat));
  } else if (front.error().code != ErrorCode::kNotFound) {
    // The file exists, and may be readable the next time.
    stray_bytes_ += stat->bytes;
  }
}

void DiskFolder::TellFound() {
  uint64_t bytes = 0;
  while (!untold_.empty() && bytes < options_.found_bytes_max && !stopped_()) {
    Untold next = std::move(untold_.front());
    untold_.pop_front();
    std::optional<ObjectHeader> header = HeaderOf(std::move(next));
    if (!header) continue;
    bytes += HeaderBytes(*header);
    news_.found.push_back(*std::move(header));
  }
}

std::optional<ObjectHeader> DiskFolder::HeaderOf(Untold untold) {
  if (untold.header) untold_bytes_ -= HeaderBytes(*untold.header);
  // It is gone, or was already reported otherwise.
  if (untold_names_.erase(untold.name) == 0) return std::nullopt;
  const DiskEntry* const entry = index_.Find(own_model_, untold.name);
  if (entry == nullptr || !entry->good) return std::nullopt;
  if (untold.header) return std::move(untold.header);
  Result<Front> front = ReadFront(*fs_, PathOf(own_model_), untold.name, entry->bytes);
  if (front) return std::move(front->header);
  trouble_->Note(front.error());
  // The next scan looks at the file again.
  index_.Erase(own_model_, untold.name);
  return std::nullopt;
}

bool DiskFolder::IsMended(const DiskEntry& known) const {
  // A newer version's file is checked again before it is evicted or overwritten.
  if (known.good || known.newer) return false;
  const Result<FileStat> stat = fs_->Stat(PathOf(known.model, known.name));
  return stat && (stat->bytes != known.bytes || stat->time_ns != known.time_ns);
}

void DiskFolder::ScanTemp(const std::string& model, const std::string& file) {
  const std::string path = PathOf(model) + "/" + file;
  const Result<FileStat> stat = fs_->Stat(path);
  if (!stat) {
    trouble_->Note(stat.error());
    if (stat.error().code != ErrorCode::kNotFound) seen_all_ = false;
    return;
  }
  // Our own temporary files are left from failed writes: no write is in progress during a scan.
  const bool ours = file.starts_with(temp_prefix_);
  if (ours || options_.now_ns() - stat->time_ns > kTempLifeNs) {
    DropFile(path, stat->bytes);
  } else {
    stray_bytes_ += stat->bytes;
  }
}

}  // namespace cairn
