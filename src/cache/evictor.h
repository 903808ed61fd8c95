// Evictor: holds the cache to its budget in bytes. Saved objects leave memory first, because they
// can be loaded again; then the eviction policy names the objects of least value.
//
// Threads: called by one thread.

#ifndef CAIRN_CACHE_EVICTOR_H_
#define CAIRN_CACHE_EVICTOR_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "cache/disk/disk_saver.h"
#include "cache/eviction_ranking.h"
#include "cache/object_table.h"
#include "policy/eviction.h"

namespace cairn {

class Evictor {
 public:
  // `table` and `saver` must outlive this object. `path_checkpoints_max`: the most checkpoints on
  // one conversation's path; 0: the budget is the only limit.
  Evictor(ObjectTable* table, DiskSaver* saver, std::unique_ptr<EvictionPolicy> policy,
          size_t budget_bytes, size_t path_checkpoints_max);

  size_t budget_bytes() const { return budget_; }
  // Returns how many bytes left memory. Objects in use stay; if they exceed `bytes_max`, the budget
  // is their size.
  size_t SetBudget(size_t bytes_max);

  // Evicts until `bytes` more fit. Returns false if they do not fit and nothing more can be
  // evicted.
  bool MakeRoom(size_t bytes);
  // Removes saved objects from memory until `bytes` more fit, or until one ranking is used up.
  // Returns false if there are none.
  bool ReleaseSome(const SlotParts& in_slots, size_t bytes);
  // Makes room and hands `bytes` to the store, for an object that is in the table already.
  // `is_query`: the object is a kQuery checkpoint. kNoSpace if there is no room.
  Status StoreBytes(uint64_t id, Bytes bytes, bool is_query = false);
  // Counts and returns the error of an object that even an empty cache could not hold.
  tl::unexpected<Error> RefuseRoom();
  // Evicts one checkpoint of the path to `entry` if the path has too many.
  void KeepPathShort(const CheckpointEntry& entry);

 private:
  // Ranks all candidates once, and evicts the first of them until `bytes` more fit. Returns false
  // if nothing can be evicted.
  bool EvictSome(const SlotParts& in_slots, size_t bytes);
  void Evict(const EvictionCandidate& candidate);
  // Evicts a checkpoint. The nearest one above it, where its prompts resume from now on, takes over
  // its class, its age and whether it is passed.
  void DropSnapshot(CheckpointId id);
  // How many of the candidates to rank so that `bytes` more fit. At most an eighth of them: each
  // eviction changes the worth of others, so they are ranked again.
  size_t CountAtOnce(const std::vector<EvictionCandidate>& candidates, size_t bytes) const;
  // The saved objects whose bytes are in `place`.
  std::vector<EvictionCandidate> SavedCandidates(const SlotParts& in_slots,
                                                 SnapshotStore::Place place) const;

  ObjectTable* const table_;
  DiskSaver* const saver_;
  const EvictionRanking ranking_;
  const std::unique_ptr<EvictionPolicy> eviction_;
  size_t budget_;  // in bytes
  const size_t path_checkpoints_max_;
  bool query_incoming_ = false;  // room is being made for a kQuery
  // Kept between calls, because it takes a megabyte or more.
  std::vector<EvictionCandidate> candidates_;
};

}  // namespace cairn

#endif  // CAIRN_CACHE_EVICTOR_H_
