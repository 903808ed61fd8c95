// EvictionRanking: lists the objects of the cache that may be evicted, in the form that eviction
// policies take, and protects some from every policy.
//
// Threads: called by one thread.

#ifndef CAIRN_CACHE_OBJECTS_EVICTION_RANKING_H_
#define CAIRN_CACHE_OBJECTS_EVICTION_RANKING_H_

#include <cstddef>
#include <utility>
#include <vector>

#include "cache/objects/object_table.h"
#include "policy/eviction.h"

namespace cairn {

class EvictionRanking {
 public:
  // `table` must outlive this object.
  explicit EvictionRanking(const ObjectTable* table) : table_(table) {}

  // Inputs of protection besides the table.
  struct Protection {
    size_t budget_bytes = 0;
    bool query_incoming = false;  // room is being made for a kQuery
  };

  // Writes all objects that may be evicted into `candidates`. `in_slots`: see ObjectTable::InSlots.
  void Find(const SlotParts& in_slots, const Protection& protection,
            std::vector<EvictionCandidate>* candidates) const;
  // Writes all saved objects that may be removed into `candidates`.
  void FindSaved(const SlotParts& in_slots, std::vector<EvictionCandidate>* candidates) const;
  // Whether an object that was ranked is still there and not in use, and would be ranked the same.
  bool IsAsRanked(const EvictionCandidate& candidate, const SlotParts& in_slots) const;

  EvictionCandidate CandidateOf(const CheckpointEntry& entry) const;
  EvictionCandidate CandidateOf(const SegmentIndex::Segment& segment,
                                const SlotParts& in_slots) const;
  EvictionCandidate CandidateOf(const FullState& whole) const;

 private:
  // As CandidateOf, into a new candidate: a ranking describes every checkpoint.
  void Describe(const CheckpointEntry& entry, EvictionCandidate* described) const;
  // Whether the bytes are on disk, and all of them written.
  bool IsSaved(uint64_t id) const;
  // Returns the shallowest and the deepest checkpoint in the segment; nullptr if there is none.
  std::pair<const CheckpointEntry*, const CheckpointEntry*> CheckpointsOf(
      const SegmentIndex::Segment& segment) const;
  // Returns the bytes of the segments above that only the checkpoints of this one need.
  size_t BytesServing(const SegmentIndex::Segment& segment, const SlotParts& in_slots) const;
  // Whether its attention KV is neither stored nor in a slot.
  bool IsUnreachable(const CheckpointEntry& entry, const SlotParts& in_slots) const;
  // Whether the entry is worth more than policies know.
  bool Protectable(const CheckpointEntry& entry, const SlotParts& in_slots) const;
  // Returns those of the protectable entries that are protected, sorted by id: at most half the
  // budget, or the latest query's alone if it is larger.
  std::vector<CheckpointId> Protected(std::vector<const CheckpointEntry*> wanted,
                                      const Protection& protection) const;

  const ObjectTable* const table_;
};

}  // namespace cairn

#endif  // CAIRN_CACHE_OBJECTS_EVICTION_RANKING_H_
