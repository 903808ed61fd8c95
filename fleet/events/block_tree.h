// BlockTree: the blocks of 64 tokens that resumable prefixes consist of, and the events by which
// routers come to know the same set. A block is known by its hash, which covers the ids
// (tree/token_ids.h) of all tokens up to its end; so a prefix that several parts share is there
// once.
//
//   ids    [0 … 64)[64 … 128)[128 … 192)           tiers that reach it
//   block      a  ────  b  ──┬──  c                a, b: slot and memory; c: slot
//                            └──  d                d: memory
//
// A *reach* is a part that ends in a block and whose state lies in one tier. It reaches all blocks
// before that one too. The set is published as differences: what came and went between two
// batches cancels out.
//
// Cost: Extend takes time for the tokens given to it, AddReach and RemoveReach for the blocks whose
// tiers change, NextEvents for the blocks that changed.
//
// Threads: one at a time.

#ifndef CAIRN_FLEET_EVENTS_BLOCK_TREE_H_
#define CAIRN_FLEET_EVENTS_BLOCK_TREE_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "base/tokens.h"
#include "fleet/events/kv_event.h"
#include "tree/prefix_change.h"
#include "tree/token_ids.h"

namespace cairn {

class BlockTree {
 public:
  struct Block;
  // The end of a sequence: the last full block, nullptr if there is none, and the tokens after it.
  struct End {
    Block* block = nullptr;
    Tokens tail = {};

    size_t tokens() const;
  };

  explicit BlockTree(const TokenIds& ids);
  ~BlockTree();
  BlockTree(const BlockTree&) = delete;
  BlockTree& operator=(const BlockTree&) = delete;

  // Returns the end of the first `position` tokens of the sequence that ends at `end`. REQUIRES: it
  // has so many.
  static End CutTo(const End& end, size_t position);
  // Adds the blocks of the tokens that follow `end`, and holds the last one until Release.
  End Extend(End end, TokenSpan tokens);
  void Release(const End& end) { Drop(end.block); }

  void AddReach(const End& end, PrefixTier tier);
  void RemoveReach(const End& end, PrefixTier tier);

  // Returns the next events: what was stored, parents first, with at most `blocks_max` blocks. What
  // is gone is told only once nothing is left to be told as stored; so a block that moves to
  // another tier is always in one.
  std::vector<KvEvent> NextEvents(size_t blocks_max);
  bool has_events() const { return !changed_.empty(); }
  // Forgets what was published: NextEvents tells the whole set again.
  void PublishAnew();

  // The blocks that are published, by tier.
  const std::array<size_t, kPrefixTiers>& published() const { return published_; }
  size_t blocks() const { return blocks_.size(); }

  // CHECKs that counts, links and figures agree. Costs a walk over all blocks.
  void CheckInvariants() const;

 private:
  Block* Child(Block* parent, TokenSpan tokens);
  void Drop(Block* block);
  void RemoveUnheld(Block* block);
  void NoteChange(Block* block);
  // Returns false if there is more to tell.
  bool TellStored(size_t blocks_max, std::vector<KvEvent>* events);
  void TellRemoved(std::vector<KvEvent>* events);
  // All changes are told: removes the blocks that nothing holds any more.
  void Settle();

  const TokenIds ids_;
  std::unordered_map<uint64_t, std::unique_ptr<Block>> blocks_;  // by hash
  std::vector<Block*> changed_;  // those whose tiers may differ from the published ones
  std::array<size_t, kPrefixTiers> published_ = {};
  std::vector<uint32_t> scratch_;
};

// PartTable: the parts that the scheduler reports (tree/prefix_change.h), as reaches in a tree of
// blocks. A part whose bytes are useless without its base lies in the slower tier of both:
//
//   segment, memory ── segment, disk ── checkpoint, memory        the checkpoint is reached on disk
//
// Cost: a change takes time for its tokens and for the parts that change their tier with it.
//
// Threads: one at a time.
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

#endif  // CAIRN_FLEET_EVENTS_BLOCK_TREE_H_
