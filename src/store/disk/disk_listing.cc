#include "store/disk/disk_listing.h"

#include <unistd.h>

#include <algorithm>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "base/hash.h"
#include "store/disk/disk_files.h"

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

// Returns the memory that the header takes, tokens included.
uint64_t HeaderBytes(const ObjectHeader& header) {
  return sizeof(ObjectHeader) + header.tokens.size() * sizeof(Token);
}

}  // namespace

DiskListing::DiskListing(Fs* fs, const DiskStoreOptions& options, DiskTrouble* trouble,
                         std::function<bool()> stopped)
    : fs_(fs),
      options_(options),
      budget_(options.bytes_max),
      own_model_(ToText(options.fingerprint)),
      temp_prefix_(TempPrefix(this, options.now_ns())),
      trouble_(trouble),
      stopped_(std::move(stopped)) {}

std::string DiskListing::PathOf(const std::string& model) const {
  return options_.folder + "/" + model;
}

std::string DiskListing::PathOf(const std::string& model, const ObjectName& name) const {
  return PathOf(model) + "/" + ObjectFileName(name);
}

void DiskListing::AddFound(const std::string& model, const ObjectName& name) {
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
      unsynced_ = true;
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

void DiskListing::AddFoundNow(const ObjectName& name) {
  AddFound(own_model_, name);
  if (untold_.empty() || untold_.back().name != name || !untold_names_.contains(name)) return;
  Untold untold = std::move(untold_.back());
  untold_.pop_back();
  std::optional<ObjectHeader> header = HeaderOf(std::move(untold));
  if (header) events_.found.push_back({*std::move(header), TimeOf(name)});
}

bool DiskListing::IsMended(const DiskEntry& known) const {
  // A newer version's file is checked again before it is evicted or overwritten.
  if (known.good || known.newer) return false;
  const Result<FileStat> stat = fs_->Stat(PathOf(known.model, known.name));
  return stat && (stat->bytes != known.bytes || stat->time_ns != known.time_ns);
}

void DiskListing::Forget(const std::string& model, const ObjectName& name) {
  const DiskEntry* const entry = index_.Find(model, name);
  if (entry == nullptr) return;
  const bool told = model == own_model_ && untold_names_.erase(name) == 0;
  if (entry->good && told) events_.gone.push_back(name);
  index_.Erase(model, name);
}

void DiskListing::ForgetModel(const std::string& model) {
  for (const ObjectName& name : index_.NamesOf(model)) {
    const bool told = model == own_model_ && untold_names_.erase(name) == 0;
    if (index_.Find(model, name)->good && told) events_.vanished.push_back(name);
    index_.Erase(model, name);
  }
}

void DiskListing::LeaveToNewer(const ObjectName& name) {
  Forget(own_model_, name);
  const Result<FileStat> stat = fs_->Stat(PathOf(own_model_, name));
  if (stat) index_.Put(DiskIndex::NewerEntry(own_model_, name, *stat));
}

void DiskListing::DropFile(const std::string& path, uint64_t bytes) {
  const Status removed = fs_->Remove(path);
  if (removed || removed.error().code == ErrorCode::kNotFound) return;
  trouble_->Note(removed.error());
  stray_bytes_ += bytes;
}

void DiskListing::ReportWritten(const ObjectName& name) {
  untold_names_.erase(name);
  const DiskEntry* const entry = index_.Find(own_model_, name);
  events_.written.push_back({name, entry == nullptr ? 0 : entry->bytes});
}

void DiskListing::ReportFound(const ObjectName& name, ObjectHeader header) {
  untold_names_.erase(name);
  events_.found.push_back({std::move(header), TimeOf(name)});
}

void DiskListing::SortFound() {
  std::stable_sort(untold_.begin(), untold_.end(),
                   [](const Untold& a, const Untold& b) { return a.depth < b.depth; });
}

void DiskListing::TellFound() {
  uint64_t bytes = 0;
  while (!untold_.empty() && bytes < options_.found_bytes_max && !stopped_()) {
    Untold next = std::move(untold_.front());
    untold_.pop_front();
    const ObjectName name = next.name;
    std::optional<ObjectHeader> header = HeaderOf(std::move(next));
    if (!header) continue;
    bytes += HeaderBytes(*header);
    events_.found.push_back({*std::move(header), TimeOf(name)});
  }
}

int64_t DiskListing::TimeOf(const ObjectName& name) const {
  const DiskEntry* const entry = index_.Find(own_model_, name);
  return entry == nullptr ? 0 : entry->time_ns;
}

std::optional<ObjectHeader> DiskListing::HeaderOf(Untold untold) {
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

void DiskListing::LookAtDevice() {
  if (!budget_.fits_device()) return;
  const auto space = fs_->SpaceOf(options_.folder);
  // Without a folder there is nothing to hold to a budget.
  if (!space) return;
  const bool was_shrunk = budget_.is_shrunk();
  budget_.LookAt(*space, bytes());
  if (budget_.is_shrunk() == was_shrunk || !options_.log) return;
  const std::string size = std::to_string(budget_.bytes_max() >> 20) + " MiB";
  options_.log(LogLevel::kInfo, was_shrunk
                                    ? "disk cache: the device has room again; the budget is " + size
                                    : "disk cache: other files fill the device; the budget shrinks "
                                      "to half of what they leave, " +
                                          size + ". --cache-disk names a fixed one");
}

Status DiskListing::Sync() {
  if (!unsynced_) return {};
  if (Status synced = fs_->SyncFolder(PathOf(own_model_)); !synced) return synced;
  unsynced_ = false;
  return {};
}

std::optional<bool> DiskScanner::Scan() {
  listing_->index().ClearStuck();
  listing_->stray_bytes() = 0;
  listing_->seen_all() = true;
  Result<std::vector<std::string>> folders = listing_->fs().List(listing_->options().folder);
  if (!folders) {
    listing_->trouble().Note(folders.error());
    if (folders.error().code != ErrorCode::kNotFound) {
      listing_->seen_all() = false;
      return std::nullopt;
    }
    // The first write creates the folder.
    folders.emplace();
  }
  std::set<std::string> there;
  for (const std::string& model : *folders) {
    if (!IsModelFolder(model)) continue;
    there.insert(model);
    ScanModel(model);
    if (listing_->stopped()) return std::nullopt;
  }
  for (const std::string& model : listing_->index().Models()) {
    if (there.contains(model)) continue;
    listing_->ForgetModel(model);
  }
  listing_->SortFound();
  return there.contains(listing_->own_model());
}

void DiskScanner::ScanModel(const std::string& model) {
  const Result<std::vector<std::string>> files = listing_->fs().List(listing_->PathOf(model));
  if (!files && files.error().code != ErrorCode::kNotFound) {
    listing_->trouble().Note(files.error());
    // Another user's model folder is not our concern: files that we may not see do not count
    // either.
    const bool others =
        model != listing_->own_model() && files.error().code == ErrorCode::kUnavailable;
    if (!others) listing_->seen_all() = false;
    return;
  }
  std::set<ObjectName> there;
  if (files) {
    for (const std::string& file : *files) {
      if (listing_->stopped()) return;
      if (IsTempFile(file)) ScanTemp(model, file);
      const ObjectName name = ParseObjectFileName(file);
      if (name.empty()) continue;
      there.insert(name);
      const DiskEntry* const known = listing_->index().Find(model, name);
      if (known == nullptr || listing_->IsMended(*known)) listing_->AddFound(model, name);
    }
  }
  for (const ObjectName& name : listing_->index().NamesOf(model)) {
    if (!there.contains(name)) listing_->Forget(model, name);
  }
}

void DiskScanner::ScanTemp(const std::string& model, const std::string& file) {
  const std::string path = listing_->PathOf(model) + "/" + file;
  const Result<FileStat> stat = listing_->fs().Stat(path);
  if (!stat) {
    listing_->trouble().Note(stat.error());
    if (stat.error().code != ErrorCode::kNotFound) listing_->seen_all() = false;
    return;
  }
  // Our own temporary files are left from failed writes: no write is in progress during a scan.
  const bool ours = file.starts_with(listing_->temp_prefix());
  if (ours || listing_->options().now_ns() - stat->time_ns > kTempLifeNs) {
    listing_->DropFile(path, stat->bytes);
  } else {
    listing_->stray_bytes() += stat->bytes;
  }
}

}  // namespace cairn
