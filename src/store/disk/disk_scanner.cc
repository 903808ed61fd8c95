#include "store/disk/disk_scanner.h"

#include <optional>
#include <set>
#include <vector>

#include "store/disk/disk_files.h"

namespace cairn {

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
