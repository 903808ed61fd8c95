// Evictor: holds the cache to its budgets in bytes, of memory and of disk, as one cache in two
// places:
//
//   memory   saved objects leave it first, because they can be read again; then the objects that
//            the eviction policy names are moved to the disk, where there is one
//   disk     where an object that comes has no room, the eviction policy ranks it and all that is
//            on disk: what is worth least goes from both places, and may be the object that comes
//
// Threads: called by one thread.

#ifndef CAIRN_CACHE_DISK_EVICTOR_H_
#define CAIRN_CACHE_DISK_EVICTOR_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "cache/disk/disk_saver.h"
#include "cache/objects/eviction_ranking.h"
#include "cache/objects/object_table.h"
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
  // Keeps some room on disk free for objects that are saved while they stay in memory.
  void KeepDiskReserve();
  // Whether `bytes` more find room without a wait for the disk: in the queue of writes, in free
  // memory or in that of saved objects.
  bool TakesAtOnce(size_t bytes) const;
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
  void Evict(const EvictionCandidate& candidate, const SlotParts& in_slots);
  // Removes the object, from memory and disk.
  void Remove(const EvictionCandidate& candidate);
  // Saves the object in place of removing it. Returns false if it is not worth its bytes, or if
  // what is on disk is worth more.
  bool MoveToDisk(const EvictionCandidate& candidate, const SlotParts& in_slots);
  // Removes saved objects of less value than `incoming` until `bytes` of it fit on disk. Returns
  // false if they do not.
  bool MakeDiskRoom(const EvictionCandidate& incoming, size_t bytes, const SlotParts& in_slots);
  // One ranking of MakeDiskRoom, or of what is on disk alone. Returns false if nothing was removed.
  bool RemoveSaved(const EvictionCandidate* incoming, size_t bytes, const SlotParts& in_slots);
  // Moves a segment that others begin in to the disk: it cannot be removed, but be read again. A
  // conversation longer than the memory leaves its slot this way. Returns false if there is none.
  bool MoveInner(const SlotParts& in_slots);
  bool HasDiskRoom(size_t bytes) const;
  // The bytes of the memory that are free or can be released without a write.
  size_t CleanBytes() const;
  // Evicts a checkpoint. The nearest one above it, where its prompts resume from now on, takes over
  // its class, its age and whether it is passed.
  void DropSnapshot(CheckpointId id);
  // How many of the candidates to rank so that `bytes` more fit. At most an eighth of them: each
  // eviction changes the worth of others, so they are ranked again.
  size_t CountAtOnce(const std::vector<EvictionCandidate>& candidates, size_t bytes) const;
  // The saved objects whose bytes are in `place`.
  std::vector<EvictionCandidate> ReleaseCandidates(const SlotParts& in_slots,
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

#endif  // CAIRN_CACHE_DISK_EVICTOR_H_
