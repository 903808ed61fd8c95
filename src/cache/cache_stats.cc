#include "cache/cache_stats.h"

#include <algorithm>

#include "cache/checkpoint_cache.h"

namespace cairn {

CacheStats CheckpointCache::stats() const {
  CacheStats stats = stats_;
  stats.checkpoints = entries_.size();
  stats.segments = segments_.segments().size();
  stats.wholes = wholes_.wholes().size();
  stats.kept = static_cast<size_t>(
      std::count_if(marked_.begin(), marked_.end(),
                    [this](const CheckpointId id) { return IsKept(EntryOf(id)); }));
  stats.bytes = HeldBytes();
  stats.bytes_max = budget_;
  stats.token_bytes = TokenBytes();
  return stats;
}

CacheStats CheckpointCache::FullStats() const {
  CacheStats stats = this->stats();
  for (const auto& [id, entry] : entries_) {
    const Checkpoint& checkpoint = entry.checkpoint;
    stats.checkpoints_held[checkpoint.checkpoint_class].Add(InMemory(id), checkpoint.bytes);
  }
  for (const auto& [id, segment] : segments_.segments()) {
    stats.segments_held.Add(InMemory(id), segment.bytes);
  }
  for (const auto& [id, whole] : wholes_.wholes()) {
    stats.wholes_held.Add(InMemory(id), whole.bytes);
  }
  return stats;
}

}  // namespace cairn
