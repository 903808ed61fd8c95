// CheckpointCache: the prefix cache. For every stored prefix it knows which checkpoints lie on it
// and which of its attention KV is stored. It plans where prefill takes new checkpoints, and evicts
// the objects of least value when its budget is full. Bytes and their costs are opaque to it: it
// sees no engine, no HTTP and no wall clock, so the simulator and the tests run the same code as
// the server.
//
// Life of a checkpoint:
//
//   Plan ──> (prefill up to there) ──> Insert ──> Match ──> Pin ──> Unpin ─┐
//                                        │          ^                      │
//                                        │          └──────────────────────┘
//                                        └──> evicted for a newer one, once unpinned
//
// A checkpoint consists of a snapshot at a position and the segments of attention KV before it.
// Either can be evicted while the other stays. While a slot holds the KV, the snapshot alone
// suffices to resume; otherwise the KV is assembled from the segments
// (cache/objects/segment_index.h). Where a model's KV cannot be cut into segments, the full state
// of a slot is stored (cache/objects/segment_index.h).
//
// A store may save objects beyond this process (store/snapshot_store.h). Then saved objects may
// leave memory and be read again, objects that were saved earlier are found and taken in as if they
// had been inserted, and a saved object that vanishes is a miss.
//
// Namespaces isolate clients: no object stored under one is ever matched under another.
//
// Threads: called by one thread, the one that owns the engine's context.

#ifndef CAIRN_CACHE_CHECKPOINT_CACHE_H_
#define CAIRN_CACHE_CHECKPOINT_CACHE_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "base/provenance.h"
#include "base/result.h"
#include "base/tokens.h"
#include "cache/disk/disk_loader.h"
#include "cache/disk/disk_saver.h"
#include "cache/disk/evictor.h"
#include "cache/objects/cache_stats.h"
#include "cache/objects/eviction_ranking.h"
#include "cache/objects/object_table.h"
#include "cache/objects/segment_index.h"
#include "cache/objects/stored_prefixes.h"
#include "policy/eviction.h"
#include "policy/placement.h"
#include "store/snapshot_store.h"

namespace cairn {

struct CacheOptions {
  // Budget of all snapshots and segments together, and of the tokens that they are found by; until
  // SetBudget changes it.
  size_t ram_bytes_max = size_t{8192} << 20;
  // Planned checkpoints closer than this to the one before them are left out, except the last turn,
  // the prompt's end and the one before it.
  size_t min_step_tokens = 0;
  // The most checkpoints on one conversation's path. 0: the budget in bytes is the only limit.
  size_t path_checkpoints_max = 0;
  // The longest segment, halved until many fit the budget. Short segments let a long conversation
  // be evicted from its end, step by step, and take little room on their way to a disk.
  size_t segment_tokens_max = 8192;
};

class CheckpointCache {
 public:
  struct MatchResult {
    // Tokens of the prompt that lie on paths of checkpoints.
    size_t shared = 0;
    // The checkpoints on the prompt's path, shallowest first.
    std::vector<Checkpoint> checkpoints;
    // Tokens of the prompt whose attention KV is stored, on the grid.
    size_t stored_on_grid = 0;
    // Full states that begin as the prompt does; valid until the cache changes.
    std::vector<const FullState*> full_states;
    // The stored prompt from which this one diverges: its end and its number of turns. 0 if none is
    // known.
    size_t neighbour_tokens = 0;
    size_t neighbour_turns = 0;
    // A checkpoint whose tokens begin with the first `shared` of the prompt; 0: there is none.
    CheckpointId nearest = 0;
  };

  // Facts of the engine and of the slot that Plan depends on.
  struct PlanInput {
    size_t resumed_tokens = 0;  // the slot's end
    PromptCuts cuts;
    size_t chunk_tokens = 1;
    size_t snapshot_bytes = 0;
  };

  // The segments up to a position, pinned. LoadPart returns their bytes.
  struct PinnedPath {
    struct Part {
      size_t begin = 0;
      size_t end = 0;
      size_t bytes = 0;
      SegmentId id = 0;
      bool from_disk = false;  // see DiskLoader::FromDisk
    };
    std::vector<Part> parts;
    Provenance provenance;  // of the sequence assembled from the parts
  };

  CheckpointCache(const CacheOptions& options, std::unique_ptr<PlacementPolicy> placement,
                  std::unique_ptr<EvictionPolicy> eviction, std::unique_ptr<SnapshotStore> store);

  // Without slots every checkpoint counts as reachable. `slots.held` is called until the next
  // SetSlots.
  void SetSlots(SlotsView slots) { table_.slots() = std::move(slots); }

  MatchResult Match(NamespaceId name_space, TokenSpan prompt) const;

  // Returns where prefill should stop to take checkpoints: positions in (resumed_tokens,
  // shape.tokens), on the grid, deepest last.
  std::vector<Placement> Plan(const PromptShape& shape, const MatchResult& match,
                              const PlanInput& input) const;
  // Records for placement where a prompt diverged from stored ones, and for the disk whether its
  // conversation goes on. Called once per prompt.
  void Learn(const PromptShape& shape, const MatchResult& match);

  // Whether exactly this state is stored already, so that no snapshot of it need be taken.
  bool Holds(NamespaceId name_space, TokenSpan prefix, LineageId lineage) const;

  // Stores the state after `prefix`, evicting other objects for room. A checkpoint at the same
  // position is replaced, unless it is pinned, or it is on the grid with its KV stored and the new
  // one is off the grid. Fills in `what`'s id, position and bytes. kNoSpace if there is no room and
  // nothing can be evicted; no request should fail for that.
  Result<CheckpointId> Insert(NamespaceId name_space, TokenSpan prefix, Checkpoint what,
                              Bytes snapshot);

  // Returns the tokens that the nearest stored sequence has after those that it shares with
  // `prompt`, at most `tokens_max`. Empty if it ends there.
  Tokens StoredNext(NamespaceId name_space, TokenSpan prompt, size_t tokens_max) const;
  // Whether the bytes of an object can be had without reading them from disk.
  bool InMemory(uint64_t id) const { return table_.InMemory(id); }
  // Reads objects from disk before they are needed.
  DiskLoader& loader() { return loader_; }
  // The segments that PinPath would pin; empty if not all of them are stored.
  std::vector<SegmentIndex::Link> PathTo(NamespaceId name_space, TokenSpan prefix,
                                         LineageId lineage) const {
    return table_.segments().PathTo(name_space, prefix, lineage);
  }

  // Pin and Unpin take the id of a checkpoint or of a full state. Pin prevents its eviction and
  // counts a use. kNotFound if it has been evicted or its bytes are gone; then it is not matched
  // again. The bytes are valid until as many Unpins as Pins.
  Result<ByteSpan> Pin(uint64_t id);
  void Unpin(uint64_t id);
  // Removes an object that could not be restored. REQUIRES: it is not pinned.
  void Discard(uint64_t id);

  // Removes all objects of the namespaces for which `is_gone` returns true, from disk too, but for
  // those that are pinned. Returns the number of them. Costs a walk over all objects.
  size_t DropNameSpaces(const std::function<bool(NamespaceId name_space)>& is_gone);

  // SetSavedAs, TakeEvents and SaveNext do nothing if the store does not save.
  void SetSavedAs(SavedAs saved_as) {
    table_.saved_as() = std::move(saved_as);
    intake_.OnMoreNames();
  }
  bool saves() const { return table_.store().saves(); }
  // Applies the store's events; see DiskIntake. Call it regularly.
  void TakeEvents();
  // See DiskSaver.
  DiskSaver::Step SaveNext(double prefill_ms_per_token, bool last = false) {
    return saver_.SaveNext(prefill_ms_per_token, last);
  }
  // Whether the next part of a slot finds room without a wait for the disk (Evictor::TakesAtOnce),
  // and leaves as much for the snapshots that running answers take meanwhile. True if waiting would
  // be useless, because the disk takes nothing at present.
  bool TakesPartAtOnce() const {
    const size_t tokens =
        SegmentTokensMax(table_, evictor_.budget_bytes(), options_.segment_tokens_max);
    return saved_stats().takes_nothing() ||
           evictor_.TakesAtOnce(2 * tokens * table_.slots().kv_bytes_per_token +
                                PrefixTree::BytesOf(tokens));
  }

  // The caller's clock, in milliseconds; it never goes back. Only Keep uses it.
  void SetNow(double now_ms) { table_.SetNow(now_ms); }
  // Protects the checkpoint after `prefix` from eviction during the next `keep_ms`; each Pin until
  // then restarts that time. What is kept this way takes at most half the budget, of which each
  // namespace has an equal share: a namespace above its share loses the protection of what it used
  // longest ago. Returns false if nothing is stored there, or if it does not fit (counted in
  // keeps_refused).
  bool Keep(NamespaceId name_space, TokenSpan prefix, double keep_ms);

  // The ranges of a sequence's attention KV that are not stored yet, shallowest first. `cuts`: of
  // the sequence.
  std::vector<SegmentGap> MissingSegments(NamespaceId name_space, TokenSpan tokens,
                                          const Provenance& provenance,
                                          const PromptCuts& cuts = {}) const;
  // Fills a gap. Errors as in Insert; kNotFound if the range before it is not stored.
  Status InsertSegment(NamespaceId name_space, TokenSpan tokens, const Provenance& provenance,
                       const SegmentGap& gap, Bytes bytes);
  // Pins the segments that hold the KV of `prefix`, whose last token is of `lineage`. kNotFound if
  // not all of it is stored.
  Result<PinnedPath> PinPath(NamespaceId name_space, TokenSpan prefix, LineageId lineage);
  // Returns the bytes of one segment of the path, reading them from disk if they are not in memory;
  // valid until the next call. kNotFound if they are gone; then UnpinPath removes the segment and
  // all behind it.
  Result<ByteSpan> LoadPart(const PinnedPath& path, size_t index);
  void UnpinPath(const PinnedPath& path);
  // A path of segments that leaves the grid.
  struct StoredRun {
    size_t tokens = 0;      // of the path that the prompt shares; 0: there is none
    Provenance provenance;  // of the whole path
  };
  // The path to the nearest checkpoint of `match`, if it lies off the grid and is still there, for
  // models that can resume anywhere on it.
  StoredRun StoredRunOf(const MatchResult& match) const;

  // Removes the last segment of a path that could not be assembled. REQUIRES: it is not pinned.
  void DiscardPath(const PinnedPath& path);

  // How many of `bytes` a conversation may take when a slot loses it; see RoomForConversation.
  size_t RoomFor(NamespaceId name_space, TokenSpan tokens, size_t bytes) const {
    return RoomForConversation(table_, evictor_.budget_bytes(), name_space, tokens, bytes);
  }

  // Stores the full state of a slot and replaces those that it makes useless. Errors as in Insert.
  Status InsertFullState(NamespaceId name_space, TokenSpan tokens, const Provenance& provenance,
                         Bytes bytes);

  // Sets the budget in bytes, in place of ram_bytes_max. See Evictor::SetBudget.
  size_t SetBudget(size_t bytes_max);
  // The bytes that may be stored before anything is evicted.
  size_t free_bytes() const {
    return evictor_.budget_bytes() - std::min(evictor_.budget_bytes(), table_.HeldBytes());
  }

  // Leaves out the figures by class and tier, which take a walk over all objects; FullStats has
  // them.
  CacheStats stats() const;
  CacheStats FullStats() const;
  // The store's present figures. Any thread may call it.
  SavedStats saved_stats() const { return table_.store().saved_stats(); }
  // For CacheOverview.
  ObjectTable* objects() { return &table_; }

  // CHECKs that trees, entries, segments and store agree. Costs a walk over all objects.
  void CheckInvariants() const;

 private:
  // Removes checkpoints that an older prompt of the same conversation left only for itself.
  void RetireAncestors(const CheckpointEntry& entry);
  // The last steps of Plan: rounds positions to the grid, drops those out of range or too close
  // together.
  std::vector<Placement> Thinned(std::vector<Placement> wanted, const PromptShape& shape,
                                 const PlanInput& input) const;

  const CacheOptions options_;
  const std::unique_ptr<PlacementPolicy> placement_;
  ObjectTable table_;
  DiskSaver saver_;
  Evictor evictor_;
  DiskLoader loader_;
  DiskIntake intake_;
  SegmentId loaded_part_ = 0;             // the last one that LoadPart returned; 0: none
  std::set<SegmentId> unreadable_parts_;  // segments of pinned paths whose bytes are gone
};

// Sets the cache's clock and applies the disk's events.
inline void RefreshCache(CheckpointCache* cache, double now_ms) {
  cache->SetNow(now_ms);
  cache->TakeEvents();
}

}  // namespace cairn

#endif  // CAIRN_CACHE_CHECKPOINT_CACHE_H_
