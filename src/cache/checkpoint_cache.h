// CheckpointCache: the heart. It knows, for every prefix ever read, which checkpoints lie on it and
// which of its attention KV is stored; it says where a new prompt should leave checkpoints; and it
// gives up what is worth least when its budget is full. Bytes are opaque to it and so is what they
// cost to make: it sees no engine, no HTTP and no wall clock, so that the simulator and the tests
// run the very code that serves.
//
// Life of a checkpoint:
//
//   Plan ──> (the prompt is read up to there) ──> Insert ──> Match ──> Pin ──> Unpin ─┐
//                                                    │         ^                      │
//                                                    │         └──────────────────────┘
//                                                    └──> evicted, once unpinned, for a newer one
//
// A checkpoint is a snapshot at a position and the segments on the way there; either can go while
// the other stays. While a slot holds the KV, the snapshot alone leads back; once it does not, the
// segments come back with it (cache/segment_index.h). Where a model's KV cannot be cut into
// segments, slots are stored whole (cache/full_state_index.h).
//
// A store may save things beyond this process (store/snapshot_store.h). Then what is in memory may
// go and be read again, what was saved earlier is found and taken in as if it had been inserted,
// and what of it vanishes is a miss.
//
// Namespaces keep clients apart: nothing stored under one is ever matched under another.
//
// Threads: called by one thread, the one that owns the engine's context.

#ifndef CAIRN_CACHE_CHECKPOINT_CACHE_H_
#define CAIRN_CACHE_CHECKPOINT_CACHE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "base/provenance.h"
#include "base/result.h"
#include "base/tokens.h"
#include "cache/cache_stats.h"
#include "cache/checkpoint.h"
#include "cache/disk/disk_intake.h"
#include "cache/disk/disk_saver.h"
#include "cache/evictor.h"
#include "cache/full_state_index.h"
#include "cache/object_table.h"
#include "cache/segment_index.h"
#include "cache/stored_prefixes.h"
#include "policy/eviction.h"
#include "policy/placement.h"
#include "store/snapshot_store.h"

namespace cairn {

struct CacheOptions {
  // Of all snapshots and segments together, and of the tokens that they are found by; until
  // SetBudget says otherwise.
  size_t ram_bytes_max = size_t{8192} << 20;
  // Planned checkpoints nearer than this to the one before them are left out, except the last
  // turn, the prompt's end and the one before it.
  size_t min_step_tokens = 0;
  // Checkpoints on one conversation's path; 0: the budget in bytes is the only limit.
  size_t path_checkpoints_max = 0;
  // A segment is no longer, so that a long conversation can be given up from its end, bit by bit.
  size_t segment_tokens_max = 8192;
};

class CheckpointCache {
 public:
  struct MatchResult {
    // Tokens of the prompt that lie on paths of checkpoints.
    size_t shared = 0;
    // On the prompt's path, shallowest first.
    std::vector<Checkpoint> checkpoints;
    // Tokens of the prompt whose attention KV is stored, on the grid.
    size_t stored_on_grid = 0;
    // Slots stored whole that begin as the prompt does; valid until the cache changes.
    std::vector<const FullState*> full_states;
    // The prompt that this one parts from: its end, and how many turns it had. 0: none is known.
    size_t neighbour_tokens = 0;
    size_t neighbour_turns = 0;
  };

  // What Plan must know of the engine and of the slot.
  struct PlanInput {
    size_t resumed_tokens = 0;  // the slot's end
    size_t grid_tokens = 1;
    size_t chunk_tokens = 1;
    size_t snapshot_bytes = 0;
  };

  // Segments on the way to a position, pinned; LoadPart has their bytes.
  struct PinnedPath {
    struct Part {
      size_t begin = 0;
      size_t end = 0;
      size_t bytes = 0;
      SegmentId id = 0;
      bool from_disk = false;  // it was not in memory
    };
    std::vector<Part> parts;
    Provenance provenance;  // of the sequence that they make
  };

  CheckpointCache(const CacheOptions& options, std::unique_ptr<PlacementPolicy> placement,
                  std::unique_ptr<EvictionPolicy> eviction, std::unique_ptr<SnapshotStore> store);

  // Without slots every checkpoint counts as one that can be reached. `slots.held` is called until
  // the next SetSlots.
  void SetSlots(SlotsView slots) { table_.slots() = std::move(slots); }

  MatchResult Match(NamespaceId name_space, TokenSpan prompt) const;

  // Where prefill should stop to take checkpoints: positions in (resumed_tokens, shape.tokens), on
  // the grid, deepest last.
  std::vector<Placement> Plan(const PromptShape& shape, const MatchResult& match,
                              const PlanInput& input) const;
  // Tells placement where a prompt diverged from stored ones. Once a prompt.
  void Learn(const PromptShape& shape, const MatchResult& match);

  // Whether exactly this state is stored already, so that no snapshot of it need be taken.
  bool Holds(NamespaceId name_space, TokenSpan prefix, LineageId lineage) const;

  // Stores the state after `prefix`, evicting others for room. The one that was stored at that very
  // place is replaced, unless it is pinned, or on the grid with its KV where this is not. Of
  // `what`, id, position and bytes are filled in. kNoSpace: there is no room and nothing to evict.
  // Never an error a request should fail for.
  Result<CheckpointId> Insert(NamespaceId name_space, TokenSpan prefix, Checkpoint what,
                              Bytes snapshot);

  // The tokens that the nearest stored sequence has behind those that it shares with `prompt`, so
  // many at most. Empty: it ends there.
  Tokens StoredNext(NamespaceId name_space, TokenSpan prompt, size_t tokens_max) const;
  // Whether the bytes of an object are there without reading them from a disk.
  bool InMemory(uint64_t id) const { return table_.InMemory(id); }

  // These take the id of a checkpoint or of a full state. Pin keeps it from being evicted and
  // counts it as used. kNotFound: it has been evicted, or its bytes are gone; then it is not
  // matched again. The bytes are valid until the same number of Unpins.
  Result<ByteSpan> Pin(uint64_t id);
  void Unpin(uint64_t id);
  // Forgets an object that could not be restored. REQUIRES: it is not pinned.
  void Discard(uint64_t id);

  // These do nothing where the store does not save.
  void SetSavedAs(SavedAs saved_as) { table_.saved_as() = std::move(saved_as); }
  bool saves() const { return table_.saves(); }
  // See DiskIntake. To be called now and then.
  void TakeNews() { intake_.TakeNews(); }
  // See DiskSaver.
  DiskSaver::Step SaveNext(double prefill_ms_per_token) {
    return saver_.SaveNext(prefill_ms_per_token);
  }

  // See FindStoredPrefixes.
  std::vector<StoredPrefix> PrefixesWorthMost(size_t max) const {
    return FindStoredPrefixes(table_, max);
  }

  // The caller's clock, in milliseconds; it never goes back. Only Keep looks at it.
  void SetNow(double now_ms) { table_.SetNow(now_ms); }
  // Keeps the checkpoint after `prefix` from being evicted for room during the next `keep_ms`; each
  // Pin until then begins them anew. False: nothing is stored there, or the checkpoints that are
  // kept so would take more than half the budget (counted in keeps_refused).
  bool Keep(NamespaceId name_space, TokenSpan prefix, double keep_ms);

  // The ranges of a sequence's attention KV that are not stored yet, shallowest first.
  std::vector<SegmentGap> MissingSegments(NamespaceId name_space, TokenSpan tokens,
                                          const Provenance& provenance) const;
  // Fills a gap. Errors as Insert's; kNotFound: the range before it is not stored.
  Status InsertSegment(NamespaceId name_space, TokenSpan tokens, const Provenance& provenance,
                       const SegmentGap& gap, Bytes bytes);
  // The segments that hold the KV of `prefix`, whose last token is of `lineage`.
  // kNotFound: not all of it is stored.
  Result<PinnedPath> PinPath(NamespaceId name_space, TokenSpan prefix, LineageId lineage);
  // The bytes of one of its segments, read from the disk where they are there only; valid until the
  // next call. kNotFound: they are gone, and with UnpinPath the segment is, and all behind it.
  Result<ByteSpan> LoadPart(const PinnedPath& path, size_t index);
  void UnpinPath(const PinnedPath& path);
  // Forgets the last segment of a path that could not be assembled. REQUIRES: it is not pinned.
  void DiscardPath(const PinnedPath& path);

  // Stores the full state of a slot, in place of those it has outgrown. Errors as Insert's.
  Status InsertFullState(NamespaceId name_space, TokenSpan tokens, const Provenance& provenance,
                         Bytes bytes);

  // From now on so much may be held, instead of ram_bytes_max. See Evictor::SetBudget.
  size_t SetBudget(size_t bytes_max);
  size_t held_bytes() const { return table_.HeldBytes(); }

  // Without the figures by class and tier, which take a walk over everything.
  CacheStats stats() const;
  CacheStats FullStats() const;
  // Of the store, as they are now. Any thread.
  SavedStats saved_stats() const { return table_.store().saved_stats(); }
  // For CacheOverview.
  ObjectTable* objects() { return &table_; }

  // CHECKs that trees, entries, segments and store agree; costs a walk over everything.
  void CheckInvariants() const;

 private:
  // Replaces checkpoints that an older prompt of the same conversation left only for itself.
  void RetireAncestors(const CheckpointEntry& entry);
  // Plan's last steps: on the grid, in the range, and far enough from each other.
  std::vector<Placement> Thinned(std::vector<Placement> wanted, const PromptShape& shape,
                                 const PlanInput& input) const;

  const CacheOptions options_;
  const std::unique_ptr<PlacementPolicy> placement_;
  ObjectTable table_;
  DiskSaver saver_;
  Evictor evictor_;
  DiskIntake intake_;
  SegmentId loaded_part_ = 0;             // by LoadPart; 0: none
  std::set<SegmentId> unreadable_parts_;  // of pinned paths
};

}  // namespace cairn

#endif  // CAIRN_CACHE_CHECKPOINT_CACHE_H_
