// CheckpointCache: the heart. It knows, for every prefix ever read, which checkpoints lie on it;
// it says where a new prompt should leave checkpoints; and it gives up the ones worth least when
// its budget is full. Bytes are opaque to it and so is what they cost to make: it sees no engine,
// no HTTP and no wall clock, so that the simulator and the tests run the very code that serves.
//
// Life of a checkpoint:
//
//   Plan ──> (the prompt is read up to there) ──> Insert ──> Match ──> Pin ──> Unpin ─┐
//                                                    │         ^                      │
//                                                    │         └──────────────────────┘
//                                                    └──> given up, once unpinned, for a newer one
//
// Namespaces keep askers apart: nothing stored under one is ever matched under another.
//
// Threads: called by one thread, the one that owns the engine's context.

#ifndef CAIRN_CACHE_CHECKPOINT_CACHE_H_
#define CAIRN_CACHE_CHECKPOINT_CACHE_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "base/tokens.h"
#include "policy/eviction.h"
#include "policy/placement.h"
#include "store/snapshot_store.h"
#include "tree/prefix_tree.h"

namespace cairn {

using NamespaceId = uint32_t;
using CheckpointId = uint64_t;
// The uninterrupted run that bits off the grid belong to; 0 is no run (see cache/resume.h).
using LineageId = uint64_t;

struct Checkpoint {
  CheckpointId id = 0;
  size_t position = 0;
  CheckpointClass checkpoint_class = CheckpointClass::kInterval;
  size_t bytes = 0;
  // The state is a cold run's to the bit: everything before it was read on the exactness grid.
  bool on_grid = true;
  // Whose state it is when it is not on the grid.
  LineageId lineage = 0;
};

struct CacheOptions {
  // Of all snapshots together.
  size_t ram_bytes_max = size_t{8192} << 20;
  // Planned checkpoints nearer than this to the one before them are left out, except the last
  // turn, the prompt's end and the one before it.
  size_t min_step_tokens = 0;
  // Checkpoints on one conversation's path; 0: the budget in bytes is the only limit.
  size_t path_checkpoints_max = 0;
};

// Counts since the start.
struct CacheStats {
  size_t checkpoints = 0;
  size_t bytes = 0;
  uint64_t inserted = 0;
  uint64_t evicted = 0;
  uint64_t refused = 0;  // no room, and nothing that could be given up
};

class CheckpointCache {
 public:
  struct MatchResult {
    // Tokens of the prompt that lie on stored paths.
    size_t shared = 0;
    // On the prompt's path, shallowest first.
    std::vector<Checkpoint> checkpoints;
  };

  CheckpointCache(const CacheOptions& options, std::unique_ptr<PlacementPolicy> placement,
                  std::unique_ptr<EvictionPolicy> eviction, std::unique_ptr<SnapshotStore> store);

  MatchResult Match(NamespaceId name_space, TokenSpan prompt) const;

  // Where reading on from `read_to` should stop to take checkpoints: positions in
  // (read_to, shape.tokens), on the grid, deepest last.
  std::vector<Placement> Plan(const PromptShape& shape, size_t read_to, size_t grid_tokens,
                              size_t piece_tokens) const;

  // Whether exactly this state is stored already, so that no snapshot of it need be taken.
  bool Holds(NamespaceId name_space, TokenSpan prefix, bool on_grid, LineageId lineage) const;

  // Stores the state after `prefix`, giving up others for room; what was stored at that very place
  // is replaced, unless it is pinned.
  // kNoSpace: there is no room and nothing to give up. Never an error a request should fail for.
  Result<CheckpointId> Insert(NamespaceId name_space, TokenSpan prefix,
                              CheckpointClass checkpoint_class, bool on_grid, LineageId lineage,
                              std::vector<uint8_t> snapshot);

  // Keeps `id` from being given up and counts it as used. kNotFound: it has been given up, or its
  // bytes are gone; then it is not matched again.
  // The bytes are valid until the same number of Unpins.
  Result<std::span<const uint8_t>> Pin(CheckpointId id);
  void Unpin(CheckpointId id);

  CacheStats stats() const;

  // CHECKs that the tree, the entries and the store agree; costs a walk over everything.
  void CheckInvariants() const;

 private:
  struct Entry {
    Checkpoint checkpoint;
    NamespaceId name_space = 0;
    const PrefixTree::Node* node = nullptr;
    uint64_t created_tick = 0;
    uint64_t used_tick = 0;
    int pins = 0;
  };

  const Entry& EntryOf(CheckpointId id) const;
  bool MakeRoom(size_t bytes);
  void Drop(CheckpointId id);

  const CacheOptions options_;
  const std::unique_ptr<PlacementPolicy> placement_;
  const std::unique_ptr<EvictionPolicy> eviction_;
  const std::unique_ptr<SnapshotStore> store_;

  std::map<NamespaceId, PrefixTree> trees_;
  std::unordered_map<CheckpointId, Entry> entries_;
  CheckpointId last_id_ = 0;
  uint64_t tick_ = 0;
  CacheStats stats_;
};

}  // namespace cairn

#endif  // CAIRN_CACHE_CHECKPOINT_CACHE_H_
