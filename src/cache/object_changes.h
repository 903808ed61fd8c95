// ObjectChanges: the ids of the cache's objects that came, went, moved between memory and disk, or
// got or lost the attention KV before them. For whoever follows the cache without a walk over it.
//
// Threads: called by one thread, the one that owns the engine's context.

#ifndef CAIRN_CACHE_OBJECT_CHANGES_H_
#define CAIRN_CACHE_OBJECT_CHANGES_H_

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

namespace cairn {

class ObjectChanges {
 public:
  // Nothing is noted before.
  void Begin() { noted_ = true; }
  // To be called after a change.
  void Note(uint64_t id) {
    if (noted_) ids_.push_back(id);
  }
  // Returns those since the last call, ascending.
  std::vector<uint64_t> Take() {
    std::vector<uint64_t> ids = std::exchange(ids_, {});
    std::sort(ids.begin(), ids.end());
    ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
    return ids;
  }

 private:
  bool noted_ = false;
  std::vector<uint64_t> ids_;
};

}  // namespace cairn

#endif  // CAIRN_CACHE_OBJECT_CHANGES_H_
