// SlotKeeper: brings a slot to where a prompt can go on from, by whatever way is cheapest
// (sched/slots/slot_choice.h), and saves what the slots are about to lose:
//
//   slot   | header | conversation A, 9,000 tokens |      a prompt of conversation B comes
//            kept     '--- offloaded: segments + snapshot     ─> and A comes back by a join
//
// Whatever goes wrong here costs reading, never an answer: the slot is then empty or where it was,
// what could not be used is forgotten and counted, and the prompt is read.
//
// Threads: the one that owns the context.

#ifndef CAIRN_SCHED_SLOTS_SLOT_KEEPER_H_
#define CAIRN_SCHED_SLOTS_SLOT_KEEPER_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "base/clock.h"
#include "base/trace_events.h"
#include "cache/checkpoint_cache.h"
#include "cache/resume.h"
#include "engine/engine.h"
#include "sched/answer/reuse_report.h"
#include "sched/slots/cell_ledger.h"
#include "sched/slots/moved_chunks.h"
#include "sched/slots/saved_slot.h"
#include "sched/slots/slot.h"
#include "sched/slots/slot_choice.h"

namespace cairn {

class SlotKeeper {
 public:
  // About so many tokens computed beside a cell cost what storing the cell and bringing it back
  // costs: a token takes half a nanosecond a head and layer for one that it does not look at, and
  // a cell's few hundred bytes a head and layer move at some gigabytes a second, twice.
  static constexpr size_t kBesideTokens = 512;

  struct Options {
    ReuseMode mode = ReuseMode::kLive;
    size_t grid_tokens = 64;
    // Keep the state and the logits of every prompt's end.
    bool keep_ends = true;
    // Save what the slots lose.
    bool offload = true;
    // Runs are numbered from here on. What is saved beyond this process keeps its numbers, so no
    // two processes may begin near each other.
    LineageId first_lineage = 0;
    // A slot that was unused for so long is copied to a cache that saves (see StoreUnused).
    double unused_ms = 2000;
    // Chunks of so many tokens or more are moved where a prompt has them at another place
    // (sched/slots/moved_chunks.h); 0: none.
    size_t move_tokens_min = 0;
    // A free slot is stored and emptied when about so many tokens were computed beside it
    // (sched/slots/slot_crowding.cc); 0: it stays until its room is wanted.
    size_t beside_tokens_max = 0;
    TraceEvents* trace = nullptr;  // outlives the keeper; null: nobody
  };
  // Counts since the start.
  struct Stats {
    uint64_t checkpoints_taken = 0;
    uint64_t checkpoints_restored = 0;
    uint64_t joined = 0;
    uint64_t forked = 0;      // from what another slot holds
    uint64_t wholes_set = 0;  // slots that were stored whole
    uint64_t moved = 0;       // prompts that got chunks from another place
    uint64_t shifted = 0;     // full slots of which the oldest half was dropped
    uint64_t offloaded = 0;
    // Ways back that failed, after which the prompt was read from its begin.
    uint64_t failed = 0;
  };
  struct Resumed {
    size_t slot = 0;
    // Of the prompt's end, when nothing is left to read; else nothing.
    std::vector<float> logits;
    // How it came there; what the slots and the cache know of the prompt beyond that is not in it.
    ReuseReport report;
  };

  // All outlive the keeper, which owns the slots: as many as the engine has.
  SlotKeeper(Engine* engine, CheckpointCache* cache, const Clock* clock, const Options& options);
  ~SlotKeeper();
  SlotKeeper(const SlotKeeper&) = delete;
  SlotKeeper& operator=(const SlotKeeper&) = delete;

  const Slot& slot(size_t index) const { return slots_[index].slot; }
  Slot& slot(size_t index) { return slots_[index].slot; }
  bool has_free() const { return free_slots() > 0; }
  size_t free_slots() const;
  // Whether a prompt of so many tokens fits beside what the slots in use hold.
  bool HasRoomFor(size_t tokens) const;

  // Takes a slot for a prompt and brings it along the prompt without reading; the slot is in use
  // until Release. REQUIRES: has_free().
  Resumed Resume(const SlotNeeds& needs);
  struct Reach {
    size_t tokens = 0;         // so far along the prompt Resume would come
    size_t shared_tokens = 0;  // of these, in cells of a slot in use, which hold them already
  };
  // Now; when no slot is free, if all were.
  Reach ReachOf(const SlotNeeds& needs) const;
  // Of a way that a slot has already: its KV lies in a slot, and the state to set on it, where one
  // is needed, in memory. So Resume would move no more than that, and need not be called before
  // somebody goes on from there. Nothing: there is no such way.
  std::optional<ReuseReport> AtHand(const SlotNeeds& needs);
  void Release(size_t slot);
  // Of a full slot: drops the older half of what stands behind its first `keep` tokens. How many
  // tokens; 0: it cannot be done, and the slot is as it was or, where the engine failed, empty.
  size_t DropOldest(size_t slot, size_t keep);
  // Drops what a slot holds without saving it; how many tokens that were. kUnavailable: it is in
  // use. kInvalidArgument: there is no such slot, or what it holds is another client's.
  Result<size_t> Erase(size_t slot, NamespaceId name_space);
  // kInvalidArgument: there is no such slot. kUnavailable: it is in use.
  Status CheckFree(size_t slot) const;
  // Begins to save a slot to a file: what it holds, in pieces. The slot is in use until EndSaving,
  // so that it stays as it is while other slots go on. kUnavailable: it is in use.
  // kInvalidArgument: there is no such slot, it is empty, or another client's. kUnsupported: the
  // model's states cannot be taken out.
  Result<SlotContent> BeginSaving(size_t slot, NamespaceId name_space);
  // A piece's bytes. kNotFound: a checkpoint that the cache has given up since; the others do
  // without it. REQUIRES: the slot is being saved.
  Result<Bytes> TakePiece(size_t slot, const SlotPart& piece);
  void EndSaving(size_t slot);
  void EndAllSaving();
  // Whether a slot is being saved.
  bool saving() const;
  // Makes a slot what was saved, and hands the checkpoints to the cache; what the slot holds is
  // offloaded first. kUnavailable: it is in use, or others hold the room; nothing has changed.
  // kInvalidArgument: there is no such slot, or the engine does not take the states. kTooLong: it
  // is more than a slot holds.
  Status Restore(size_t slot, SavedSlot saved);
  // After a failure in the middle of something: whatever the slot holds is not to be trusted, and
  // it is free, unless it is being saved.
  void EmptyAfterFailure(size_t slot);
  // Offloads and empties the free slot that was unused for longest. False: none holds anything.
  bool EmptyAFreeSlot();
  // Saves a slot's content to the cache as far as it is of use later and fits, and empties it.
  void OffloadAndClear(size_t slot);
  // Where the cache saves: copies to it the next piece of what an unused slot holds, so that it is
  // safe while the slot goes on holding it. False: there was nothing to copy. `now`: without
  // waiting until it was unused for long. Slots that are stored whole are copied only then, as each
  // copy is all of it.
  bool StoreUnused(bool now);
  // Slots in use have computed so many tokens.
  void CountBeside(size_t tokens);
  // Stores a piece of a free slot that is in the way of those in use, which have so many tokens to
  // compute at least, or empties it when all is stored. False: none is.
  bool OffloadIdle(size_t coming_tokens);
  // About what StoreUnused has still to copy.
  size_t UnstoredBytes() const;
  double prefill_ms_per_token() const { return prefill_ms_per_token_; }

  // Stores the state at the slot's end. `turns`: of the prompt, when it ends here or soon.
  void TakeCheckpoint(size_t slot_index, CheckpointClass checkpoint_class, size_t turns);
  // As TakeCheckpoint at the end of a prompt, whose `logits` are kept with the state.
  void KeepEnd(size_t slot_index, std::span<const float> logits);

  // How long reading took, for what Resume weighs.
  void ObservePrefill(size_t tokens, double ms);

  const Stats& stats() const { return stats_; }

 private:
  struct Kept {
    Slot slot;
    bool free = true;
    bool saving = false;  // then it is not free
    uint64_t used_tick = 0;
    double released_ms = 0;
    // Of StoreUnused: pieces at most to come; nothing: not begun, since the slot was used.
    std::optional<size_t> chunks_left = {};
    size_t beside_tokens = 0;  // computed by others since it is free
    bool stays = false;        // the cache does not take all of it
  };
  // What a way needs of the cache, pinned while it is used.
  struct Held {
    ByteSpan snapshot;
    ByteSpan whole;
    std::optional<CheckpointCache::PinnedPath> path;
    bool from_disk = false;  // snapshot or whole were not in memory
  };

  Resumed GoBack(SlotNeeds needs);
  ResumeRules Rules(const SlotNeeds& needs) const;
  // When no slot is free, as if all were.
  Way Choose(const SlotNeeds& needs) const;
  std::optional<Held> Hold(const SlotNeeds& needs, const Way& way);
  void Unhold(const Way& way, const Held& held);
  void Forget(const Way& way, const Held& held);
  Status GoTo(const SlotNeeds& needs, const Way& way, const Held& held);
  Status GoFromOwn(Slot* slot, TokenSpan prefix, const ResumePoint& point, const Held& held);
  Status Join(Slot* slot, TokenSpan prefix, const ResumePoint& point, const Held& held);
  void MakeRoom(const SlotNeeds& needs, const Way& way);

  static void EndCheckpoint(TraceSpan* span, const Slot& slot, CheckpointClass checkpoint_class,
                            size_t bytes, bool kept);

  // In slot_report.cc.
  // `kept`: so many of the prompt's tokens the slot held before.
  ReuseReport Report(const Way& way, const Held& held, size_t kept) const;
  std::optional<size_t> LongestUnused(size_t but, size_t and_but) const;

  // In slot_moving.cc.
  struct Move {
    size_t slot = 0;
    std::vector<MovedChunk> chunks;
    // How far along the prompt the slot comes.
    size_t end() const { return chunks.back().to + chunks.back().tokens; }
  };
  std::optional<Move> FindMove(const SlotNeeds& needs) const;
  // Nothing: it is not wanted, or brings nothing more than `otherwise`.
  std::optional<Resumed> ResumeByMoving(const SlotNeeds& needs, const Way& otherwise);
  Status MoveChunks(const std::vector<MovedChunk>& chunks, Slot* slot);

  // In slot_saving.cc.
  SlotContent ContentOf(const Slot& slot) const;
  Status CheckFits(const SavedSlot& saved) const;
  Status SetSaved(Slot* slot, const SavedSlot& saved);
  void KeepCheckpoints(SavedSlot saved);

  // In slot_offloading.cc.
  void Offload(Slot* slot);
  void Save(Slot* slot);
  // What of a slot leads back later: how far, and whose bits.
  struct Useful {
    size_t end = 0;
    Provenance provenance;
  };
  Useful UsefulOf(const Slot& slot) const;
  bool OffloadWhole(Slot* slot);
  bool OffloadSegments(Slot* slot, const Useful& useful);
  bool OffloadSegment(Slot* slot, const Useful& useful, const SegmentGap& gap);
  // False: there is nothing more.
  bool StorePiece(Kept* kept);
  bool StoreNextOf(Kept* kept);

  // In slot_crowding.cc.
  bool IsCrowding(const Kept& kept, size_t coming_tokens) const;
  // Whether emptying it would lose nothing.
  bool IsStored(const Slot& slot) const;

  Engine* const engine_;
  CheckpointCache* const cache_;
  const Clock* const clock_;
  const Options options_;
  CellLedger ledger_;
  std::vector<Kept> slots_;
  uint64_t tick_ = 0;
  const Slot* offloading_ = nullptr;  // whose content is being saved
  LineageId last_lineage_ = 0;
  // Measured as the server runs, each a moving average; 0: not yet.
  double prefill_ms_per_token_ = 0;
  double join_bytes_per_ms_ = 0;
  Stats stats_;
};

}  // namespace cairn

#endif  // CAIRN_SCHED_SLOTS_SLOT_KEEPER_H_
