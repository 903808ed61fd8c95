// CacheStats: counters of a CheckpointCache since its start, and the sizes of what it holds. Plain
// data.

#ifndef CAIRN_CACHE_OBJECTS_CACHE_STATS_H_
#define CAIRN_CACHE_OBJECTS_CACHE_STATS_H_

#include <cstddef>
#include <cstdint>
#include <map>

#include "policy/placement.h"

namespace cairn {

// Objects of one kind, by the tier that their bytes would be read from.
struct HeldStats {
  struct Tier {
    size_t things = 0;
    size_t bytes = 0;
  };

  void Add(bool in_memory, size_t bytes) {
    Tier& tier = in_memory ? ram : disk;
    ++tier.things;
    tier.bytes += bytes;
  }

  Tier ram;   // in memory, whether or not they are on disk too
  Tier disk;  // on disk only
};

// Counters since the start, and the present contents.
struct CacheStats {
  size_t checkpoints = 0;
  size_t segments = 0;
  size_t full_states = 0;
  // Filled in by FullStats only.
  std::map<CheckpointClass, HeldStats> checkpoints_held;
  HeldStats segments_held;
  HeldStats full_states_held;
  size_t bytes = 0;        // all bytes that the budget counts
  size_t bytes_max = 0;    // the budget in force
  size_t token_bytes = 0;  // the part of `bytes` that tokens take
  uint64_t inserted = 0;
  uint64_t evicted = 0;
  uint64_t path_full = 0;  // evicted because their path had reached path_checkpoints_max
  uint64_t refused = 0;    // rejected: there was no room and nothing could be evicted
  uint64_t discarded = 0;  // dropped because they could not be restored
  uint64_t outgrown = 0;   // made useless by later objects of the same conversation
  uint64_t replaced = 0;   // by a newer checkpoint at the same position
  size_t kept = 0;         // checkpoints that a client asked to keep
  uint64_t keeps_refused = 0;
  uint64_t released = 0;  // left memory because they are saved
  uint64_t taken_in = 0;  // found in the store, saved by another process or an earlier one
  uint64_t lost = 0;      // were only saved, and have vanished from the store
};

}  // namespace cairn

#endif  // CAIRN_CACHE_OBJECTS_CACHE_STATS_H_
