// EvictionRanking: lists the objects of the cache that may be evicted, in the form that eviction
// policies take, and protects some from every policy.
//
// Threads: called by one thread.

#ifndef CAIRN_CACHE_OBJECTS_EVICTION_RANKING_H_
#define CAIRN_CACHE_OBJECTS_EVICTION_RANKING_H_

#include <cstddef>
#include <utility>
#include <vector>

#include "base/tokens.h"
#include "cache/objects/object_table.h"
#include "policy/eviction.h"

namespace cairn {

// RoomForConversation: how much of the budget one conversation may take when a slot loses it.
//
// A long conversation may be as large as the budget. Storing it evicts all others, and the next one
// that is stored evicts its end, without which the rest of it is worth little. So it gets half of
// the budget, and more only where that evicts nothing that is used as often as it is:
//
//   conversation   stored ------ continued in a slot ------ about to be stored again
//   others           '--- used in this time: they keep their room
//
// Pure; called by the cache's thread.

// Returns how many of `wanted_bytes` the conversation `tokens` may take: all that half of
// `budget_bytes` holds, or more. Walks over all objects only where neither half of the budget nor
// the unused part of it is enough.
size_t RoomForConversation(const ObjectTable& table, size_t budget_bytes, NamespaceId name_space,
                           TokenSpan tokens, size_t wanted_bytes);

// Returns the longest segment to store: `tokens_max`, halved until it takes a sixteenth of the
// budget or has 256 tokens.
size_t SegmentTokensMax(const ObjectTable& table, size_t budget_bytes, size_t tokens_max);

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
