// PartTable: the parts that the scheduler reports (tree/prefix_change.h), as reaches in a tree of
// blocks. A part whose bytes are useless without its base lies in the slower tier of both:
//
//   segment, memory ── segment, disk ── checkpoint, memory        the checkpoint is reached on disk
//
// Cost: a change takes time for its tokens and for the parts that change their tier with it.
//
// Threads: one at a time.

#ifndef CAIRN_FLEET_EVENTS_PART_TABLE_H_
#define CAIRN_FLEET_EVENTS_PART_TABLE_H_

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <unordered_set>

#include "fleet/events/block_tree.h"
#include "tree/prefix_change.h"

namespace cairn {

class PartTable {
 public:
  // `tree` outlives this object.
  explicit PartTable(BlockTree* tree) : tree_(tree) {}

  void Apply(const PrefixChange& change);
  size_t size() const { return parts_.size(); }

 private:
  struct Part {
    BlockTree::End end;
    PrefixTier own = PrefixTier::kMemory;   // of its bytes
    PrefixTier tier = PrefixTier::kMemory;  // of all that resuming at its end takes
    bool resumable = false;
    uint64_t base = 0;  // set if it needs it
    std::unordered_set<uint64_t> needed_by = {};
  };

  void Put(const PrefixChange& change);
  void Remove(uint64_t id);
  // Ends what a part reaches and holds.
  void Leave(uint64_t id, const Part& part);
  // Works out the tier of the part, and of all that need it.
  void SettleTier(uint64_t id);

  BlockTree* const tree_;
  std::unordered_map<uint64_t, Part> parts_;
};

}  // namespace cairn

#endif  // CAIRN_FLEET_EVENTS_PART_TABLE_H_
