// CacheOverview: the checkpoints of one client, for people who look at them and keep or drop them
// (api/admin/cache_api.h).
//
// Threads: that of the cache.

#ifndef CAIRN_CACHE_CACHE_OVERVIEW_H_
#define CAIRN_CACHE_CACHE_OVERVIEW_H_

#include <cstddef>
#include <vector>

#include "base/result.h"
#include "cache/checkpoint_cache.h"

namespace cairn {

struct HeldCheckpoint {
  Checkpoint checkpoint;
  CheckpointId parent = 0;  // the nearest on its path; 0: none
  uint64_t uses = 0;
  bool kept = false;  // by CheckpointCache::Keep or KeepHeld
  bool in_memory = true;
  Tokens tokens;  // the first ones behind its parent
};

class CacheOverview {
 public:
  // `cache` outlives it.
  explicit CacheOverview(CheckpointCache* cache) : cache_(cache), table_(cache->objects()) {}

  // With ids above `after`, in their order. Of each so many tokens at most.
  std::vector<HeldCheckpoint> HeldBy(NamespaceId name_space, CheckpointId after, size_t held_max,
                                     size_t tokens_max) const;
  // kNotFound: there is none, or it is another client's.
  Result<HeldCheckpoint> FindHeld(NamespaceId name_space, CheckpointId id, size_t tokens_max) const;
  // All tokens before it. kNotFound: as above.
  Result<Tokens> PathOfHeld(NamespaceId name_space, CheckpointId id) const;
  // Keeps it until it is told otherwise, or ends what Keep began. kNoSpace: kept checkpoints would
  // take more than half the budget. kNotFound: as above.
  Status KeepHeld(NamespaceId name_space, CheckpointId id, bool keep);
  // Drops it, where it is saved too. kUnavailable: it is in use. kNotFound: as above.
  Status DropHeld(NamespaceId name_space, CheckpointId id);

 private:
  HeldCheckpoint HeldOf(const CheckpointEntry& entry, size_t tokens_max) const;

  CheckpointCache* const cache_;
  ObjectTable* const table_;
};

}  // namespace cairn

#endif  // CAIRN_CACHE_CACHE_OVERVIEW_H_
