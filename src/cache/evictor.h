// Evictor: holds the cache to its budget in bytes. Saved objects leave memory first, for they can
// be loaded again; then the eviction policy names those that are worth least.
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
  // `table` and `saver` outlive it. `path_checkpoints_max`: on one conversation's path; 0: the
  // budget is the only limit.
  Evictor(ObjectTable* table, DiskSaver* saver, std::unique_ptr<EvictionPolicy> policy,
          size_t budget_bytes, size_t path_checkpoints_max);

  size_t budget_bytes() const { return budget_; }
  // Objects in use stay, and then the budget is what they take. How many bytes left memory.
  size_t SetBudget(size_t bytes_max);

  // Evicts until `bytes` more fit. False: they do not, and nothing more can be evicted.
  bool MakeRoom(size_t bytes);
  // Lets saved objects leave memory until `bytes` more fit, or for a while. False: there are none.
  bool ReleaseSome(const ObjectIds& in_slots, size_t bytes);
  // Makes room and hands `bytes` to the store, for an object that is in the table already.
  // `is_query`: the object is a kQuery checkpoint. kNoSpace: there is no room.
  Status StoreBytes(uint64_t id, Bytes bytes, bool is_query = false);
  // The error of an object that no empty cache could hold; counted.
  tl::unexpected<Error> RefuseRoom();
  // Evicts one checkpoint of the path to `entry` when there are too many.
  void KeepPathShort(const CheckpointEntry& entry);

 private:
  // Ranks all once, and evicts the first of them until `bytes` more fit. False: nobody can go.
  bool EvictSome(const ObjectIds& in_slots, size_t bytes);
  void Evict(const EvictionCandidate& candidate);
  // How many of the candidates to rank so that `bytes` more fit. At most an eighth of them: with
  // each that goes, others change, and they are ranked again.
  size_t CountAtOnce(const std::vector<EvictionCandidate>& candidates, size_t bytes) const;
  // Objects that were saved, in this place.
  std::vector<EvictionCandidate> SavedCandidates(const ObjectIds& in_slots,
                                                 SnapshotStore::Place place) const;

  ObjectTable* const table_;
  DiskSaver* const saver_;
  const EvictionRanking ranking_;
  const std::unique_ptr<EvictionPolicy> eviction_;
  size_t budget_;  // in bytes
  const size_t path_checkpoints_max_;
  bool query_incoming_ = false;  // room is made for a kQuery
  // A megabyte and more, so its memory is kept from one time to the next.
  std::vector<EvictionCandidate> candidates_;
};

}  // namespace cairn

#endif  // CAIRN_CACHE_EVICTOR_H_
