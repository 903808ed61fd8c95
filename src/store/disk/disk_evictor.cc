#include "store/disk/disk_evictor.h"

#include <algorithm>
#include <memory>

namespace cairn {
namespace {

// How often the eviction order is computed again because other processes changed the files.
constexpr int kPlansMax = 100;

}  // namespace

DiskEvictor::Room DiskEvictor::MakeRoom(const DiskEntry* incoming) {
  uint64_t reserve_lacks = 0;
  if (incoming != nullptr) {
    const Result<uint64_t> lacks = ReserveLacks(incoming->bytes);
    if (!lacks) {
      listing_->trouble().Note(lacks.error());
      return Room::kFailed;
    }
    reserve_lacks = *lacks;
  }
  std::unique_ptr<FileLock> lock;
  for (int plan = 0; plan < kPlansMax && !listing_->stopped(); ++plan) {
    const uint64_t bytes_max = listing_->budget().bytes_max();
    const uint64_t over = listing_->bytes() - std::min(listing_->bytes(), bytes_max);
    const uint64_t needed = std::max(over, reserve_lacks);
    if (needed == 0) return Room::kMade;
    const auto chosen = listing_->index().ToFree(needed, incoming, listing_->options().now_ns(),
                                                 listing_->options().half_life_s);
    if (!chosen) return over == 0 ? Room::kDeviceFull : Room::kNone;
    if (lock == nullptr) {
      Result<std::unique_ptr<FileLock>> held =
          listing_->fs().TryLock(listing_->options().folder + "/lock");
      if (!held) {
        if (held.error().code == ErrorCode::kUnavailable) return Room::kLocked;
        listing_->trouble().Note(held.error());
        return Room::kFailed;
      }
      lock = *std::move(held);
    }
    if (!AreAsKnown(*chosen)) continue;
    const uint64_t freed = Evict(*chosen);
    // Assume that the bytes are free now, as the device may report them late.
    reserve_lacks -= std::min(reserve_lacks, freed);
  }
  return Room::kFailed;
}

Result<uint64_t> DiskEvictor::ReserveLacks(uint64_t bytes) const {
  const auto space = listing_->fs().SpaceOf(listing_->PathOf(listing_->own_model()));
  if (!space) return tl::unexpected(space.error());
  const uint64_t free = space->free_bytes;
  const uint64_t left = free > bytes ? free - bytes : 0;
  const uint64_t lacks_bytes = free > bytes ? 0 : bytes - free;
  const uint64_t lacks_reserve =
      left < listing_->options().reserve_bytes ? listing_->options().reserve_bytes - left : 0;
  return lacks_bytes + lacks_reserve;
}

bool DiskEvictor::AreAsKnown(const std::vector<DiskEntry>& entries) {
  bool as_known = true;
  for (const DiskEntry& entry : entries) {
    const Result<FileStat> stat = listing_->fs().Stat(listing_->PathOf(entry.model, entry.name));
    if (stat && stat->time_ns == entry.time_ns && stat->bytes == entry.bytes) continue;
    as_known = false;
    if (stat && stat->bytes == entry.bytes) {
      listing_->index().SetTime(entry.model, entry.name, stat->time_ns);
    } else if (stat) {
      // Another file is in its place, which the next scan reads.
      listing_->Forget(entry.model, entry.name);
      listing_->stray_bytes() += stat->bytes;
    } else if (stat.error().code == ErrorCode::kNotFound) {
      listing_->Forget(entry.model, entry.name);
    } else {
      listing_->trouble().Note(stat.error());
      listing_->index().SetStuck(entry.model, entry.name);
    }
  }
  return as_known;
}

uint64_t DiskEvictor::Evict(const std::vector<DiskEntry>& entries) {
  TraceSpan span(listing_->options().trace, "evict");
  uint64_t freed = 0;
  for (const DiskEntry& entry : entries) {
    const Status removed = listing_->fs().Remove(listing_->PathOf(entry.model, entry.name));
    if (!removed && removed.error().code != ErrorCode::kNotFound) {
      listing_->trouble().Note(removed.error());
      listing_->index().SetStuck(entry.model, entry.name);
      // The next in order may be an object that this one needs, so stop here.
      break;
    }
    if (removed) ++evicted_;
    freed += entry.bytes;
    listing_->Forget(entry.model, entry.name);
  }
  span.Add("bytes", freed);
  return freed;
}

}  // namespace cairn
