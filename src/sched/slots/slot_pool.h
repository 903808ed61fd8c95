// SlotPool: holds the slots of an engine, which of them are in use, and the cells they take.
// Restorer, Offloader, SlotMover, CheckpointTaker and SlotArchive work on it:
//
//   Restorer         gives a request a slot and advances it along its prompt without prefill
//   CheckpointTaker  stores states of a slot in the cache
//   Offloader        stores the contents that a slot is about to lose in the cache
//   SlotMover        moves tokens of a slot to other positions
//   SlotArchive      saves a slot to a file for a client, and restores one
//
// A failure in any of them costs prefill, never an answer: the slot is then empty or unchanged, and
// the object that failed is removed and counted.
//
// Threads: the context thread.

#ifndef CAIRN_SCHED_SLOTS_SLOT_POOL_H_
#define CAIRN_SCHED_SLOTS_SLOT_POOL_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/clock.h"
#include "base/process/trace_events.h"
#include "cache/checkpoint_cache.h"
#include "cache/resume.h"
#include "engine/engine.h"
#include "sched/slots/cell_ledger.h"
#include "sched/slots/slot.h"

namespace cairn {

// The number of tokens computed beside a cell that cost about as much as storing and restoring the
// cell: a token takes half a nanosecond per head and layer for a cell that it does not attend to,
// and a cell's few hundred bytes per head and layer move at some gigabytes per second, twice.
inline constexpr size_t kBesideTokens = 512;

// Where the contents of slots are stored, and when they move.
struct SlotOptions {
  // Store the state and the logits of every prompt's end.
  bool keep_ends = true;
  // Save the contents that slots lose.
  bool offload = true;
  // Lineages are numbered from here on. Objects saved beyond this process keep their numbers, so no
  // two processes may begin close to each other.
  LineageId first_lineage = 0;
  // A slot that was unused for this time is copied to a cache that saves (Offloader::StoreUnused).
  double unused_ms = 2000;
  // Chunks of at least this many tokens are moved where a prompt has them at another position
  // (sched/slots/slot_mover.h); 0: none.
  size_t move_tokens_min = 0;
  // A free slot is stored and emptied after about this many tokens were computed beside it
  // (Offloader::OffloadIdle); 0: it stays until its room is needed.
  size_t beside_tokens_max = 0;
};

struct SlotPoolOptions : SlotOptions {
  ReuseMode mode = ReuseMode::kLive;
  CutRules cuts = {};
  bool leave_grid = false;       // see ResumeRules
  TraceEvents* trace = nullptr;  // must outlive the pool; nullptr: no trace
};

// Counters since the start.
struct SlotCounters {
  uint64_t checkpoints_taken = 0;
  uint64_t checkpoints_restored = 0;
  uint64_t assembled = 0;        // from segments
  uint64_t forked = 0;           // copied from another slot
  uint64_t full_states_set = 0;  // full states restored into slots
  uint64_t moved = 0;            // prompts that got chunks from other positions
  uint64_t shifted = 0;          // full slots whose oldest half was dropped
  uint64_t offloaded = 0;
  // Resume paths that failed; the prompt was then computed from its beginning.
  uint64_t failed = 0;
};

class SlotPool {
 public:
  struct Entry {
    Slot slot;
    bool free = true;
    bool saving = false;  // implies that it is not free
    uint64_t used_tick = 0;
    double released_ms = 0;
    // For Offloader::StoreUnused: an upper bound of the segments still to store; nullopt: not begun
    // since the slot was last used.
    std::optional<size_t> segments_left = {};
    size_t beside_tokens = 0;  // computed by other slots since it is free
    bool stays = false;        // the cache does not accept all of it
    size_t prompt_turns = 0;   // of the last prompt that was computed in it
    uint64_t cache_key = 0;    // of the last request that had one, see SlotNeeds
  };

  // All must outlive the pool. The pool owns the slots: as many as the engine has.
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
  // Whether a prompt of `tokens` tokens fits beside the slots in use.
  bool HasRoomFor(size_t tokens) const;
  // Returns the free slot that was unused for longest, except `but` and `and_but`; nullopt if all
  // are empty.
  std::optional<size_t> LongestUnused(size_t but, size_t and_but) const;

  // Marks the slot as in use until Release, by the request of the present tick.
  void Use(size_t index);
  void Release(size_t index);
  // Empties the slot after a failure in the middle of an operation, because its contents are
  // unknown. It is then free, unless it is being saved.
  void EmptyAfterFailure(size_t index);
  // While a slot is offloaded, the cache must not count on its contents. nullptr: none is.
  void SetOffloading(const Slot* slot) { offloading_ = slot; }

  // Counts requests; orders slots by their last use.
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
