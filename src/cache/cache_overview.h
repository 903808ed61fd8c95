// CacheOverview: lists one client's checkpoints and lets an administrator keep or drop them
// (api/admin/cache_api.h).
//
// Threads: called by the cache's thread.

#ifndef CAIRN_CACHE_CACHE_OVERVIEW_H_
#define CAIRN_CACHE_CACHE_OVERVIEW_H_

#include <cstddef>
#include <vector>

#include "base/result.h"
#include "cache/checkpoint_cache.h"

namespace cairn {

struct HeldCheckpoint {
  Checkpoint checkpoint;
  CheckpointId parent = 0;  // the nearest checkpoint above it on its path; 0 if there is none
  uint64_t uses = 0;
  bool kept = false;  // by CheckpointCache::Keep or KeepHeld
  bool in_memory = true;
  Tokens tokens;  // the first tokens after its parent
};

class CacheOverview {
 public:
  // `cache` must outlive this object.
  explicit CacheOverview(CheckpointCache* cache) : cache_(cache), table_(cache->objects()) {}

  // Returns checkpoints with ids above `after`, in the order of their ids: at most `held_max`, each
  // with at most `tokens_max` tokens.
  std::vector<HeldCheckpoint> HeldBy(NamespaceId name_space, CheckpointId after, size_t held_max,
                                     size_t tokens_max) const;
  // kNotFound if there is no such checkpoint, or if it belongs to another client.
  Result<HeldCheckpoint> FindHeld(NamespaceId name_space, CheckpointId id, size_t tokens_max) const;
  // Returns all tokens before the checkpoint. kNotFound as in FindHeld.
  Result<Tokens> PathOfHeld(NamespaceId name_space, CheckpointId id) const;
  // `keep`: protects the checkpoint from eviction until it is released. Otherwise releases it,
  // whether KeepHeld or Keep protected it. kNoSpace if kept checkpoints would take more than half
  // the budget. kNotFound as in FindHeld.
  Status KeepHeld(NamespaceId name_space, CheckpointId id, bool keep);
  // Drops the checkpoint from memory and from disk. kUnavailable while it is in use. kNotFound as
  // in FindHeld.
  Status DropHeld(NamespaceId name_space, CheckpointId id);

 private:
  HeldCheckpoint HeldOf(const CheckpointEntry& entry, size_t tokens_max) const;

  CheckpointCache* const cache_;
  ObjectTable* const table_;
};

}  // namespace cairn

#endif  // CAIRN_CACHE_CACHE_OVERVIEW_H_
