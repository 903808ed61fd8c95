// CacheStats: what a CheckpointCache did since the start, and what it holds. Plain data.

#ifndef CAIRN_CACHE_CACHE_STATS_H_
#define CAIRN_CACHE_CACHE_STATS_H_

#include <cstddef>
#include <cstdint>
#include <map>

#include "policy/placement.h"

namespace cairn {

// Things of one kind, by where their bytes would be taken from.
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

  Tier ram;   // whether or not they are on disk too
  Tier disk;  // there alone
};

// Counts since the start, and what is held now.
struct CacheStats {
  size_t checkpoints = 0;
  size_t segments = 0;
  size_t full_states = 0;
  // Only in FullStats.
  std::map<CheckpointClass, HeldStats> checkpoints_held;
  HeldStats segments_held;
  HeldStats full_states_held;
  size_t bytes = 0;        // all that the budget counts
  size_t bytes_max = 0;    // the budget in force
  size_t token_bytes = 0;  // of these, what tokens take
  uint64_t inserted = 0;
  uint64_t evicted = 0;
  uint64_t path_full = 0;  // of these, because their conversation may keep so many only
  uint64_t refused = 0;    // no room, and nothing that could be given up
  uint64_t discarded = 0;  // could not be restored
  uint64_t outgrown = 0;   // were of no use beside what their own conversation left later
  uint64_t replaced = 0;   // by a newer one at the very same place
  size_t kept = 0;         // checkpoints, because a client asked
  uint64_t keeps_refused = 0;
  uint64_t released = 0;  // left memory, as they are saved
  uint64_t taken_in = 0;  // found, saved by others or earlier
  uint64_t lost = 0;      // were saved only, and are gone
};

}  // namespace cairn

#endif  // CAIRN_CACHE_CACHE_STATS_H_
