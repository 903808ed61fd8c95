#include "store/disk/disk_folder.h"

#include <utility>

#include "base/check.h"
#include "store/disk/disk_files.h"
#include "store/object_rank.h"

namespace cairn {

DiskFolder::DiskFolder(Fs* fs, const DiskStoreOptions& options, DiskTrouble* trouble,
                       std::function<bool()> stopped)
    : listing_(fs, options, trouble, std::move(stopped)),
      scanner_(&listing_),
      evictor_(&listing_),
      writer_(&listing_, &evictor_) {
  CHECK(options.half_life_s > 0);
}

bool DiskFolder::Scan() {
  const std::optional<bool> has_own_folder = scanner_.Scan();
  writer_.OnScanned(has_own_folder.value_or(true));
  listing_.LookAtDevice();
  if (!has_own_folder || bytes() <= bytes_max()) return true;
  return evictor_.MakeRoom(nullptr) != DiskEvictor::Room::kLocked;
}

void DiskFolder::Remove(const ObjectName& name) {
  if (IsNewer(listing_.fs(), listing_.PathOf(listing_.own_model(), name)))
    return listing_.LeaveToNewer(name);
  const Status removed = listing_.fs().Remove(listing_.PathOf(listing_.own_model(), name));
  if (removed || removed.error().code == ErrorCode::kNotFound) {
    listing_.Forget(listing_.own_model(), name);
  } else {
    listing_.trouble().Note(removed.error());
  }
}

void DiskFolder::Lost(const ObjectName& name) {
  const Result<WholeObject> object =
      ReadWholeObject(listing_.fs(), listing_.PathOf(listing_.own_model()), name);
  if (object) {
    listing_.Forget(listing_.own_model(), name);
    listing_.AddFound(listing_.own_model(), name);
    return;
  }
  const ErrorCode why = object.error().code;
  const bool other = why != ErrorCode::kNotFound && why != ErrorCode::kUnsupported;
  if (other && why != ErrorCode::kCorrupt) return listing_.trouble().Note(object.error());
  Remove(name);
}

void DiskFolder::Adopt(const ObjectName& name) {
  const DiskEntry* const known = listing_.index().Find(listing_.own_model(), name);
  if (known == nullptr || listing_.IsMended(*known)) listing_.AddFoundNow(name);
  if (bytes() > bytes_max()) evictor_.MakeRoom(nullptr);
}

void DiskFolder::Touch(const DiskQueue::Touches& touches) {
  for (const auto& [name, uses] : touches) {
    if (listing_.stopped()) return;
    if (listing_.index().Find(listing_.own_model(), name) == nullptr) continue;
    if (listing_.options().on_used) listing_.options().on_used(name);
    const std::string path = listing_.PathOf(listing_.own_model(), name);
    // Another process may have used it since the last scan.
    const Result<FileStat> stat = listing_.fs().Stat(path);
    if (!stat) {
      listing_.trouble().Note(stat.error());
      if (stat.error().code == ErrorCode::kNotFound) listing_.Forget(listing_.own_model(), name);
      continue;
    }
    const int64_t time_ns = TimeAfterUses(stat->time_ns, listing_.options().now_ns(), uses,
                                          listing_.options().half_life_s);
    const Status set = listing_.fs().SetTime(path, time_ns);
    if (!set) listing_.trouble().Note(set.error());
    listing_.index().SetTime(listing_.own_model(), name, set ? time_ns : stat->time_ns);
  }
}

DiskStore::Events DiskFolder::TakeEvents() {
  return std::exchange(listing_.events(), {});
}

DiskFolder::Counts DiskFolder::counts() const {
  return {writer_.written(), writer_.written_bytes(), evictor_.evicted()};
}

}  // namespace cairn
