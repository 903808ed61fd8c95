// SlotPool: the slots of an engine, which of them are in use, and the cells they take. Restorer,
// Offloader, SlotMover, CheckpointTaker and SlotArchive work on it:
//
//   Restorer         a request gets a slot that is brought along its prompt without prefill
//   CheckpointTaker  states of a slot go to the cache
//   Offloader        the content that a slot is about to lose goes to the cache
//   SlotMover        tokens of a slot go to other positions
//   SlotArchive      a client saves a slot to a file, and restores one
//
// A failure in any of them costs prefill, never an answer: the slot is then empty or as it was, and
// the object that failed is forgotten and counted.
//
// Threads: the context thread.

#ifndef CAIRN_SCHED_SLOTS_SLOT_POOL_H_
#define CAIRN_SCHED_SLOTS_SLOT_POOL_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/clock.h"
#include "base/trace_events.h"
#include "cache/checkpoint_cache.h"
#include "cache/resume.h"
#include "engine/engine.h"
#include "sched/slots/cell_ledger.h"
#include "sched/slots/slot.h"

namespace cairn {

// About so many tokens computed beside a cell cost what storing the cell and bringing it back
// costs: a token takes half a nanosecond a head and layer for one that it does not look at, and a
// cell's few hundred bytes a head and layer move at some gigabytes a second, twice.
inline constexpr size_t kBesideTokens = 512;

struct SlotPoolOptions {
  ReuseMode mode = ReuseMode::kLive;
  size_t grid_tokens = 64;
  // Keep the state and the logits of every prompt's end.
  bool keep_ends = true;
  // Save the content that slots lose.
  bool offload = true;
  // Lineages are numbered from here on. Objects that are saved beyond this process keep their
  // numbers, so no two processes may begin near each other.
  LineageId first_lineage = 0;
  // A slot that was unused for so long is copied to a cache that saves (Offloader::StoreUnused).
  double unused_ms = 2000;
  // Chunks of so many tokens or more are moved where a prompt has them at another place
  // (sched/slots/moved_chunks.h); 0: none.
  size_t move_tokens_min = 0;
  // A free slot is stored and emptied when about so many tokens were computed beside it
  // (Offloader::OffloadIdle); 0: it stays until its room is wanted.
  size_t beside_tokens_max = 0;
  TraceEvents* trace = nullptr;  // outlives the pool; null: nobody
};

// Counts since the start.
struct SlotCounters {
  uint64_t checkpoints_taken = 0;
  uint64_t checkpoints_restored = 0;
  uint64_t assembled = 0;        // from segments
  uint64_t forked = 0;           // from what another slot holds
  uint64_t full_states_set = 0;  // slots that were stored as one state
  uint64_t moved = 0;            // prompts that got chunks from another place
  uint64_t shifted = 0;          // full slots of which the oldest half was dropped
  uint64_t offloaded = 0;
  // Resume paths that failed, after which the prompt was computed from its begin.
  uint64_t failed = 0;
};

class SlotPool {
 public:
  struct Entry {
    Slot slot;
    bool free = true;
    bool saving = false;  // then it is not free
    uint64_t used_tick = 0;
    double released_ms = 0;
    // Of Offloader::StoreUnused: segments at most to come; nothing: not begun, since the slot was
    // used.
    std::optional<size_t> segments_left = {};
    size_t beside_tokens = 0;  // computed by others since it is free
    bool stays = false;        // the cache does not take all of it
  };

  // All outlive the pool, which owns the slots: as many as the engine has.
  SlotPool(Engine* engine, CheckpointCache* cache, const Clock* clock,
           const SlotPoolOptions& options);
  ~SlotPool();
  SlotPool(const SlotPool&) = delete;
  SlotPool& operator=(const SlotPool&) = delete;

  Engine& engine() const { return *engine_; }
  CheckpointCache& cache() const { return *cache_; }
  const SlotPoolOptions& options() const { return options_; }
  double NowMs() const { return clock_->NowMs(); }

  size_t size() const { return entries_.size(); }
  std::vector<Entry>& entries() { return entries_; }
  const std::vector<Entry>& entries() const { return entries_; }
  Entry& entry(size_t index) { return entries_[index]; }
  const Entry& entry(size_t index) const { return entries_[index]; }
  Slot& slot(size_t index) { return entries_[index].slot; }
  const Slot& slot(size_t index) const { return entries_[index].slot; }
  const CellLedger& ledger() const { return ledger_; }
  SlotCounters& counters() { return counters_; }
  const SlotCounters& counters() const { return counters_; }

  size_t free_slots() const;
  bool has_free() const { return free_slots() > 0; }
  // Whether a slot is being saved to a file.
  bool saving() const;
  // Whether a prompt of so many tokens fits beside the slots in use.
  bool HasRoomFor(size_t tokens) const;
  // The free slot that was unused for longest, but for two. Nothing: none holds anything.
  std::optional<size_t> LongestUnused(size_t but, size_t and_but) const;

  // The slot is in use until Release, for the request of this tick.
  void Use(size_t index);
  void Release(size_t index);
  // After a failure in the middle of something: the slot's content is not to be trusted, and it is
  // free, unless it is being saved.
  void EmptyAfterFailure(size_t index);
  // While it is offloaded, the cache must not count on the slot. Null: none is.
  void SetOffloading(const Slot* slot) { offloading_ = slot; }

  // Counts requests, so that slots are told by their last use.
  uint64_t tick() const { return tick_; }
  void NextTick() { ++tick_; }
  LineageId NextLineage() { return ++last_lineage_; }

 private:
  SlotsView ViewForCache() const;

  Engine* const engine_;
  CheckpointCache* const cache_;
  const Clock* const clock_;
  const SlotPoolOptions options_;
  CellLedger ledger_;
  std::vector<Entry> entries_;
  uint64_t tick_ = 0;
  const Slot* offloading_ = nullptr;
  LineageId last_lineage_;
  SlotCounters counters_;
};

}  // namespace cairn

#endif  // CAIRN_SCHED_SLOTS_SLOT_POOL_H_
