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
//                                                    └──> given up, once unpinned, for a newer one
//
// A checkpoint is a snapshot at a position and the segments on the way there; either can go while
// the other stays. While a slot holds the KV, the snapshot alone leads back; once it does not, the
// segments come back with it (cache/segment_index.h). Where a model's KV cannot be cut into
// segments, slots are stored whole (cache/whole_index.h).
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

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "base/provenance.h"
#include "base/result.h"
#include "base/tokens.h"
#include "cache/cache_stats.h"
#include "cache/segment_index.h"
#include "cache/whole_index.h"
#include "policy/eviction.h"
#include "policy/placement.h"
#include "store/snapshot_store.h"
#include "tree/prefix_tree.h"

namespace cairn {

using CheckpointId = uint64_t;

struct Checkpoint {
  CheckpointId id = 0;
  size_t position = 0;
  CheckpointClass checkpoint_class = CheckpointClass::kInterval;
  size_t bytes = 0;
  // Whose state it is (base/provenance.h); 0: a cold run's to the bit, it lies on the grid.
  LineageId lineage = 0;
  // At the very end of a prompt: the snapshot's last bytes are the logits there, so that the same
  // prompt again reads nothing.
  size_t logits_bytes = 0;
  // ... and all before the last piece was on the grid, as in a cold run.
  bool cold_end = false;
  // How many turns its prompt had, for what placement learns; 0: unknown.
  size_t turns = 0;
  // When it was stored, by the caller's clock (SetNow); negative: before this process.
  double created_ms = -1;
  // The attention KV before it is stored, all of it. Said by Match, as it changes.
  bool kv_stored = false;

  bool on_grid() const { return lineage == 0; }
};

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

// What the cache must know of the slots to tell what is worth keeping.
struct SlotsView {
  struct Held {
    NamespaceId name_space = 0;
    TokenSpan tokens;
    bool leaving = false;  // it is about to be lost, and being stored
  };
  // Attention KV alone leads nowhere: going back takes a snapshot.
  bool needs_snapshots = false;
  // A snapshot is only good with the attention KV before it.
  bool snapshots_need_kv = false;
  // What each slot holds now. Called while the cache makes room.
  std::function<std::vector<Held>()> held = {};
};

// What saved things are known by beyond this process.
struct SavedAs {
  Fingerprint fingerprint;
  // A name for each namespace; of others nothing is saved and nothing is taken in.
  std::vector<std::pair<NamespaceId, uint64_t>> name_spaces;
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
    std::vector<const WholeState*> wholes;
    // The prompt that this one parts from: its end, and how many turns it had. 0: none is known.
    size_t neighbour_tokens = 0;
    size_t neighbour_turns = 0;
  };

  // What Plan must know of the engine and of the slot.
  struct PlanInput {
    size_t read_to = 0;  // the slot's end
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
  void SetSlots(SlotsView slots) { slots_ = std::move(slots); }

  MatchResult Match(NamespaceId name_space, TokenSpan prompt) const;

  // Where reading on should stop to take checkpoints: positions in (read_to, shape.tokens), on the
  // grid, deepest last.
  std::vector<Placement> Plan(const PromptShape& shape, const MatchResult& match,
                              const PlanInput& input) const;
  // Tells placement where a prompt parted from what was stored. Once a prompt.
  void Learn(const PromptShape& shape, const MatchResult& match);

  // Whether exactly this state is stored already, so that no snapshot of it need be taken.
  bool Holds(NamespaceId name_space, TokenSpan prefix, LineageId lineage) const;

  // Stores the state after `prefix`, giving up others for room; what was stored at that very place
  // is replaced, unless it is pinned, or on the grid with its KV where this is not. Of `what`, id,
  // position and bytes are filled in.
  // kNoSpace: there is no room and nothing to give up. Never an error a request should fail for.
  Result<CheckpointId> Insert(NamespaceId name_space, TokenSpan prefix, Checkpoint what,
                              Bytes snapshot);

  // What the nearest sequence that is stored has behind the tokens that it shares with `prompt`, so
  // many tokens at most. Empty: it ends there.
  Tokens StoredNext(NamespaceId name_space, TokenSpan prompt, size_t tokens_max) const;
  // Whether the bytes of a checkpoint, segment or whole are there without reading them from a disk.
  bool InMemory(uint64_t id) const;

  // Keeps `id` from being given up and counts it as used. kNotFound: it has been given up, or its
  // bytes are gone; then it is not matched again.
  // The bytes are valid until the same number of Unpins.
  Result<ByteSpan> Pin(CheckpointId id);
  void Unpin(CheckpointId id);
  // Forgets what could not be restored. REQUIRES: it is not pinned.
  void Discard(CheckpointId id);

  // What follows does nothing where the store does not save.
  void SetSavedAs(SavedAs saved_as) { saved_as_ = std::move(saved_as); }
  bool saves() const { return store_->saves(); }
  // Takes in what was found and forgets what is gone. To be called now and then.
  void TakeNews();
  struct SaveStep {
    bool began = false;     // something is on its way that was not
    size_t bytes_left = 0;  // of what is worth saving and is not on its way yet
  };
  // Begins to save the next piece of what is worth most for its bytes, if anything is worth it.
  SaveStep SaveNext(double prefill_ms_per_token);

  // What conversations begin with, of those headers that are stored, most wanted first. Where no
  // snapshot is needed, headers are not told from other beginnings that several have in common.
  struct StoredHeader {
    NamespaceId name_space = 0;
    Tokens tokens;
  };
  std::vector<StoredHeader> HeadersWorthMost(size_t max) const;

  // The caller's clock, in milliseconds; it never goes back. Only Keep looks at it.
  void SetNow(double now_ms);
  double now_ms() const { return now_ms_; }
  // Keeps the checkpoint after `prefix` from being given up for room during the next `keep_ms`;
  // each Pin until then begins them anew. False: nothing is stored there, or what is kept so would
  // take more than half the budget (counted in keeps_refused).
  bool Keep(NamespaceId name_space, TokenSpan prefix, double keep_ms);

  // For people, in overview.cc. One of a client's.
  struct Held {
    Checkpoint checkpoint;
    CheckpointId parent = 0;  // the nearest on its way; 0: none
    uint64_t uses = 0;
    bool kept = false;  // by Keep or KeepHeld
    bool in_memory = true;
    Tokens tokens;  // the first ones behind its parent
  };
  // With ids above `after`, in their order. Of each so many tokens at most.
  std::vector<Held> HeldBy(NamespaceId name_space, CheckpointId after, size_t held_max,
                           size_t tokens_max) const;
  // kNotFound: there is none, or it is another client's.
  Result<Held> FindHeld(NamespaceId name_space, CheckpointId id, size_t tokens_max) const;
  // All tokens before it. kNotFound: as above.
  Result<Tokens> PathOfHeld(NamespaceId name_space, CheckpointId id) const;
  // Keeps it until it is told otherwise, or ends what Keep began. kNoSpace: what is kept would take
  // more than half the budget. kNotFound: as above.
  Status KeepHeld(NamespaceId name_space, CheckpointId id, bool keep);
  // Gives it up, where it is saved too. kUnavailable: it is in use. kNotFound: as above.
  Status DropHeld(NamespaceId name_space, CheckpointId id);

  // What of a sequence's attention KV is not stored yet, shallowest first.
  std::vector<SegmentGap> MissingSegments(NamespaceId name_space, TokenSpan tokens,
                                          const Provenance& provenance) const;
  // Fills a gap. Errors as Insert's; kNotFound: what comes before it is not stored.
  Status InsertSegment(NamespaceId name_space, TokenSpan tokens, const Provenance& provenance,
                       const SegmentGap& gap, Bytes bytes);
  // The segments that hold the KV of `prefix`, whose last token is of `lineage`.
  // kNotFound: not all of it is stored.
  Result<PinnedPath> PinPath(NamespaceId name_space, TokenSpan prefix, LineageId lineage);
  // The bytes of one of its segments, read from the disk where they are there only; valid until the
  // next call. kNotFound: they are gone, and with UnpinPath the segment is, and all behind it.
  Result<ByteSpan> LoadPart(const PinnedPath& path, size_t index);
  void UnpinPath(const PinnedPath& path);
  // Forgets the last segment of a path that could not be joined. REQUIRES: it is not pinned.
  void DiscardPath(const PinnedPath& path);

  // Stores all that a slot holds, in place of what it has outgrown. Errors as Insert's.
  Status InsertWhole(NamespaceId name_space, TokenSpan tokens, const Provenance& provenance,
                     Bytes bytes);
  // As Pin and its siblings.
  Result<ByteSpan> PinWhole(WholeId id);
  void UnpinWhole(WholeId id);
  void DiscardWhole(WholeId id);

  // From now on so much may be held, instead of ram_bytes_max; what is worth least goes until it
  // fits. What is in use stays, and then the budget is what that takes. How many bytes left memory.
  size_t SetBudget(size_t bytes_max);
  size_t held_bytes() const { return HeldBytes(); }

  // Walks over everything that is held.
  // Without what is held by class and tier, which takes a walk over all of it.
  CacheStats stats() const;
  CacheStats FullStats() const;
  // Of the store, as they are now. Any thread.
  SavedStats saved_stats() const { return store_->saved_stats(); }

  // CHECKs that trees, entries, segments and store agree; costs a walk over everything.
  void CheckInvariants() const;

 private:
  using Ids = std::unordered_set<uint64_t>;

  struct Entry {
    Checkpoint checkpoint;
    NamespaceId name_space = 0;
    const PrefixTree::Node* node = nullptr;
    uint64_t created_tick = 0;
    uint64_t used_tick = 0;
    uint64_t uses = 0;
    int pins = 0;
    SegmentId holder = 0;      // of the attention KV of its last token; 0: that is not stored
    double keep_ms = 0;        // as asked by Keep
    double kept_until_ms = 0;  // of the caller's clock
    // The deepest kQuery of its path: where the next query comes back to, however long the tool
    // loop after it grows.
    bool last_query = false;
    // The deepest checkpoint up to here that knows how many turns its prompt had, and how many:
    // what Match says of a neighbour. Such a one may have been given up since.
    size_t prompt_tokens = 0;
    size_t prompt_turns = 0;
  };

  Held HeldOf(const Entry& entry, size_t tokens_max) const;
  const Entry& EntryOf(CheckpointId id) const;
  Entry& EntryOf(CheckpointId id);
  // What the budget counts.
  size_t TokenBytes() const {
    return tree_.bytes() + segments_.token_bytes() + wholes_.token_bytes();
  }
  size_t HeldBytes() const { return store_->bytes() + TokenBytes(); }
  bool MakeRoom(size_t bytes);
  // Ranks all once, and lets the first of them go until `bytes` more fit. False: nobody can go.
  bool EvictSome(const Ids& in_slots, size_t bytes);
  void GiveUp(const EvictionCandidate& candidate);
  // Whether what was ranked may still go, and would be ranked alike.
  bool IsAsRanked(const EvictionCandidate& candidate, const Ids& in_slots) const;
  // Makes room and hands `bytes` to the store. The place in the tree is there already.
  Status StoreBytes(uint64_t id, Bytes bytes);
  tl::unexpected<Error> RefuseRoom();
  void Drop(CheckpointId id);
  void DropSegment(SegmentId id);
  void DropWhole(WholeId id);
  void NotePrompt(Entry* entry) const;
  // Replaces what an older prompt of the same conversation left only for itself.
  void RetireAncestors(const Entry& entry);
  void KeepPathShort(const Entry& entry);

  void SetHolder(Entry* entry, SegmentId holder);

  // Says which checkpoints a new segment holds the last token of.
  void HoldCheckpoints(const SegmentIndex::Segment& segment, TokenSpan tokens);

  // In saving.cc.
  enum class TakenIn { kDone, kUseless, kParentMissing, kNoRoom };
  void KeepFewWaiting();
  std::optional<NamespaceId> NameSpaceNamed(uint64_t name) const;
  std::optional<uint64_t> NameOf(NamespaceId name_space) const;
  TakenIn TakeIn(const ObjectHeader& header);
  TakenIn TakeInSnapshot(NamespaceId name_space, const ObjectHeader& header);
  TakenIn TakeInSegment(NamespaceId name_space, const ObjectHeader& header);
  TakenIn TakeInWhole(NamespaceId name_space, const ObjectHeader& header);
  // What is in memory is the same as what was found.
  TakenIn SavedByOthers(uint64_t id, const ObjectHeader& header);
  // Forgets what cannot be had any more, and what is of no use without it.
  void Lose(uint64_t id);
  bool MayDrop(uint64_t id) const;
  // Lets saved things leave memory until `bytes` more fit, or for a while. False: there are none.
  bool ReleaseSome(const Ids& in_slots, size_t bytes);
  // How many of the candidates to rank so that `bytes` more fit. At most an eighth of them: with
  // each that goes, others change, and they are ranked again.
  size_t GoAtOnce(const std::vector<EvictionCandidate>& candidates, size_t bytes) const;
  struct Unsaved {
    uint64_t id = 0;
    double worth_ms = 0;
    size_t bytes = 0;  // with what must be saved before it
  };
  bool IsUnsaved(uint64_t id) const {
    return store_->PlaceOf(id) == SnapshotStore::Place::kUnsaved;
  }
  // All that is, by the speed that SaveNext was told last. Nothing: it is not worth its bytes, or
  // cannot be saved.
  std::vector<Unsaved> WorthSaving() const;
  std::optional<Unsaved> WorthOf(uint64_t id) const;
  std::optional<Unsaved> Worth(const Entry& entry) const;
  std::optional<Unsaved> WorthAlone(const SegmentIndex::Segment& segment) const;
  std::optional<Unsaved> Worth(const WholeState& whole) const;
  // Begins to save the first thing that is missing for it.
  bool SaveFirst(const Unsaved& wanted);
  // What is to be given up is saved, and leaves memory only. False: it is not worth its bytes, or
  // too much is on its way already.
  bool SaveInstead(uint64_t id);
  // Of the segments on the way to the end of one. Nothing: one of them cannot be saved.
  std::optional<size_t> UnsavedBytesTo(SegmentId segment) const;
  // The first on the way to `id` that is unsaved: a segment, or itself.
  uint64_t FirstUnsaved(uint64_t id) const;
  std::optional<ObjectHeader> HeaderOf(uint64_t id) const;

  // In headers.cc.
  std::vector<StoredHeader> HeaderCheckpoints(size_t max) const;
  std::vector<StoredHeader> HeadersOfSegments(size_t max) const;

  // In candidates.cc.
  // Checkpoints and segments whose attention KV a slot holds.
  Ids InSlots() const;
  // Into candidates_.
  void FindCandidates(const Ids& in_slots);
  // Whether they may be evicted as they are.
  bool MayGo(const Entry& entry) const;
  bool MayGo(const SegmentIndex::Segment& segment) const;
  bool MayGo(const WholeState& whole) const;
  // A slot's KV leads to it, but it is the only one.
  bool LeadsNowhere(const Entry& entry, const Ids& in_slots) const;
  EvictionCandidate CandidateOf(const Entry& entry) const;
  EvictionCandidate CandidateOf(const SegmentIndex::Segment& segment, const Ids& in_slots) const;
  EvictionCandidate CandidateOf(const WholeState& whole) const;
  // Entries that are worth more to keep than policies know: at most half the budget, or the latest
  // query's alone if it is larger.
  std::vector<CheckpointId> Protected(const Ids& in_slots) const;
  bool IsKept(const Entry& entry) const { return entry.kept_until_ms > now_ms_; }
  // What keeping it takes of the budget.
  static size_t KeptBytes(const Entry& entry);
  bool Protectable(const Entry& entry, const Ids& in_slots) const;

  const CacheOptions options_;
  size_t budget_;  // in bytes
  SlotsView slots_;
  const std::unique_ptr<PlacementPolicy> placement_;
  const std::unique_ptr<EvictionPolicy> eviction_;
  const std::unique_ptr<SnapshotStore> store_;

  PrefixTree tree_;  // a root for each namespace; values are ids of checkpoints
  std::unordered_map<CheckpointId, Entry> entries_;
  SegmentIndex segments_;
  WholeIndex wholes_;
  uint64_t last_id_ = 0;  // of checkpoints, segments and wholes alike
  // A megabyte and more, so its memory is kept from one time to the next.
  std::vector<EvictionCandidate> candidates_;
  SegmentId loaded_part_ = 0;             // by LoadPart; 0: none
  std::set<SegmentId> unreadable_parts_;  // of pinned paths
  uint64_t tick_ = 0;
  bool query_incoming_ = false;  // room is made for a kQuery
  double now_ms_ = 0;
  double prefill_ms_per_token_ = 0;          // 0: nobody has said
  std::unordered_set<CheckpointId> marked_;  // by Keep, whether or not their time is over
  CacheStats stats_;
  SavedAs saved_as_;
  bool offers_again_ = false;          // the budget grew since those that wait were looked at
  std::vector<ObjectHeader> waiting_;  // found before what they begin in, or before there was room
};

}  // namespace cairn

#endif  // CAIRN_CACHE_CHECKPOINT_CACHE_H_
