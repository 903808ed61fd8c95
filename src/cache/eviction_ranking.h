// EvictionRanking: the objects of the cache that may be evicted, as eviction policies are told of
// them, and those that are protected whatever a policy says.
//
// Threads: called by one thread.

#ifndef CAIRN_CACHE_EVICTION_RANKING_H_
#define CAIRN_CACHE_EVICTION_RANKING_H_

#include <cstddef>
#include <vector>

#include "cache/object_table.h"
#include "policy/eviction.h"

namespace cairn {

class EvictionRanking {
 public:
  // `table` outlives it.
  explicit EvictionRanking(const ObjectTable* table) : table_(table) {}

  // What protection depends on, beside the table.
  struct Protection {
    size_t budget_bytes = 0;
    bool query_incoming = false;  // room is made for a kQuery
  };

  // All that may be evicted, into `candidates`. `in_slots`: see ObjectTable::InSlots.
  void Find(const ObjectIds& in_slots, const Protection& protection,
            std::vector<EvictionCandidate>* candidates) const;
  // Whether an object that was ranked may still be evicted, and would be ranked alike.
  bool IsAsRanked(const EvictionCandidate& candidate, const ObjectIds& in_slots) const;

  EvictionCandidate CandidateOf(const CheckpointEntry& entry) const;
  EvictionCandidate CandidateOf(const SegmentIndex::Segment& segment,
                                const ObjectIds& in_slots) const;
  EvictionCandidate CandidateOf(const FullState& whole) const;

 private:
  // Whether they may be evicted as they are.
  bool MayEvict(const CheckpointEntry& entry) const;
  bool MayEvict(const SegmentIndex::Segment& segment) const;
  bool MayEvict(const FullState& whole) const;
  // Its attention KV is neither stored nor in a slot.
  bool IsUnreachable(const CheckpointEntry& entry, const ObjectIds& in_slots) const;
  bool Protectable(const CheckpointEntry& entry, const ObjectIds& in_slots) const;
  // Entries that are worth more to keep than policies know, sorted by id: at most half the budget,
  // or the latest query's alone if it is larger.
  std::vector<CheckpointId> Protected(const ObjectIds& in_slots,
                                      const Protection& protection) const;

  const ObjectTable* const table_;
};

}  // namespace cairn

#endif  // CAIRN_CACHE_EVICTION_RANKING_H_
