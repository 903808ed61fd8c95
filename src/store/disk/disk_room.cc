// Who goes when room is needed: DiskFolder::MakeRoom and its parts.

#include <algorithm>

#include "store/disk/disk_files.h"
#include "store/disk/disk_folder.h"

namespace cairn {
namespace {

// How often it is thought over anew who goes, as other processes change what is there.
constexpr int kPlansMax = 100;

}  // namespace

DiskFolder::Room DiskFolder::MakeRoom(const DiskEntry* incoming) {
  uint64_t reserve_lacks = 0;
  if (incoming != nullptr) {
    const Result<uint64_t> lacks = ReserveLacks(incoming->bytes);
    if (!lacks) {
      trouble_->Note(lacks.error());
      return Room::kFailed;
    }
    reserve_lacks = *lacks;
  }
  std::unique_ptr<FileLock> lock;
  for (int plan = 0; plan < kPlansMax && !stopped_(); ++plan) {
    const uint64_t over = bytes() > options_.bytes_max ? bytes() - options_.bytes_max : 0;
    const uint64_t needed = std::max(over, reserve_lacks);
    if (needed == 0) return Room::kMade;
    const auto chosen = index_.ToFree(needed, incoming, options_.now_ns(), options_.half_life_s);
    if (!chosen) return over == 0 ? Room::kDeviceFull : Room::kNone;
    if (lock == nullptr) {
      Result<std::unique_ptr<FileLock>> held = fs_->TryLock(options_.folder + "/lock");
      if (!held) {
        if (held.error().code == ErrorCode::kUnavailable) return Room::kLocked;
        trouble_->Note(held.error());
        return Room::kFailed;
      }
      lock = *std::move(held);
    }
    if (!AreAsKnown(*chosen)) continue;
    const uint64_t freed = GiveUp(*chosen);
    // A device may be slow to say that it has them back.
    reserve_lacks -= std::min(reserve_lacks, freed);
  }
  return Room::kFailed;
}

Result<uint64_t> DiskFolder::ReserveLacks(uint64_t bytes) const {
  Result<uint64_t> free = fs_->FreeBytes(PathOf(own_model_));
  if (!free) return free;
  const uint64_t left = *free > bytes ? *free - bytes : 0;
  const uint64_t lacks_bytes = *free > bytes ? 0 : bytes - *free;
  const uint64_t lacks_reserve = left < options_.reserve_bytes ? options_.reserve_bytes - left : 0;
  return lacks_bytes + lacks_reserve;
}

bool DiskFolder::AreAsKnown(const std::vector<DiskEntry>& entries) {
  bool as_known = true;
  for (const DiskEntry& entry : entries) {
    const Result<FileStat> stat = fs_->Stat(PathOf(entry.model, entry.name));
    if (stat && stat->time_ns == entry.time_ns && stat->bytes == entry.bytes) continue;
    as_known = false;
    if (stat && stat->bytes == entry.bytes) {
      index_.SetTime(entry.model, entry.name, stat->time_ns);
    } else if (stat) {
      // It is another file, which the next scan will look at.
      Forget(entry.model, entry.name);
      stray_bytes_ += stat->bytes;
    } else if (stat.error().code == ErrorCode::kNotFound) {
      Forget(entry.model, entry.name);
    } else {
      trouble_->Note(stat.error());
      index_.SetStuck(entry.model, entry.name);
    }
  }
  return as_known;
}

uint64_t DiskFolder::GiveUp(const std::vector<DiskEntry>& entries) {
  TraceSpan span(options_.trace, "evict");
  uint64_t freed = 0;
  for (const DiskEntry& entry : entries) {
    const Status removed = fs_->Remove(PathOf(entry.model, entry.name));
    if (!removed && removed.error().code != ErrorCode::kNotFound) {
      trouble_->Note(removed.error());
      index_.SetStuck(entry.model, entry.name);
      // What it needs may come next.
      break;
    }
    if (removed) ++counts_.evicted;
    freed += entry.bytes;
    Forget(entry.model, entry.name);
  }
  span.Add("bytes", freed);
  return freed;
}

}  // namespace cairn
