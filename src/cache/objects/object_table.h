// ObjectTable: holds the cache's objects by id and by tokens: snapshots of checkpoints, segments of
// attention KV, and full states of slots. It keeps them consistent with each other and with the
// store that has their bytes. It makes no decisions: Evictor, DiskSaver and DiskIntake do.
//
//   tokens ─> PrefixTree ──> CheckpointEntry ──holder──> Segment ──parent──> Segment …
//                             one snapshot                the attention KV before it
//   tokens ─> FullStateIndex: slots whose KV cannot be cut into segments
//
// Threads: called by one thread, the one that owns the engine's context.

#ifndef CAIRN_CACHE_OBJECTS_OBJECT_TABLE_H_
#define CAIRN_CACHE_OBJECTS_OBJECT_TABLE_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "base/provenance.h"
#include "base/tokens.h"
#include "cache/objects/cache_stats.h"
#include "cache/objects/segment_index.h"
#include "policy/placement.h"
#include "store/snapshot_store.h"
#include "tree/prefix_tree.h"

namespace cairn {

// Checkpoint: a position that prompts can resume from, as the cache describes it.
//
// Plain data.

using CheckpointId = uint64_t;

struct Checkpoint {
  CheckpointId id = 0;
  size_t position = 0;
  CheckpointClass checkpoint_class = CheckpointClass::kInterval;
  size_t bytes = 0;
  // The run whose state it holds (base/provenance.h). 0: the state lies on the grid and is
  // bit-identical to that of a cold run.
  LineageId lineage = 0;
  // Nonzero for a checkpoint at the very end of a prompt: the last bytes of its snapshot are the
  // logits there, so the same prompt needs no prefill at all.
  size_t logits_bytes = 0;
  // At a prompt's end: everything before the last chunk was on the grid, as in a cold run.
  bool cold_end = false;
  // The number of turns of its prompt, which placement learns from; 0 if unknown.
  size_t turns = 0;
  // How many answers its conversation has so far: those that the slot generated, or the turns of
  // the prompt behind which it generated the last one. 0 if it generated none.
  size_t answers = 0;
  // When it was stored, by the caller's clock (SetNow); negative if before this process started.
  double created_ms = -1;
  // Whether all attention KV before it is stored. Set by Match, as it changes over time.
  bool kv_stored = false;

  bool on_grid() const { return lineage == 0; }
};

// Returns the state alone of a stored checkpoint, whose logits lie behind it.
inline ByteSpan WithoutLogits(ByteSpan stored, const Checkpoint& checkpoint) {
  return stored.first(stored.size() - checkpoint.logits_bytes);
}

// SavedNames: a name for each namespace whose objects are saved beyond this process. A server with
// LoRA adapters has thousands of namespaces, and each object asks, so both ways are binary
// searches.
//
// A value.
class SavedNames {
 public:
  using Pair = std::pair<NamespaceId, uint64_t>;

  SavedNames() = default;
  // The first of several pairs with the same namespace or the same name counts.
  explicit SavedNames(std::vector<Pair> pairs) : by_name_space_(std::move(pairs)) { Sort(); }
  SavedNames(std::initializer_list<Pair> pairs) : by_name_space_(pairs) { Sort(); }

  std::optional<uint64_t> NameOf(NamespaceId name_space) const {
    const auto found =
        std::lower_bound(by_name_space_.begin(), by_name_space_.end(), name_space,
                         [](const Pair& pair, NamespaceId wanted) { return pair.first < wanted; });
    if (found == by_name_space_.end() || found->first != name_space) return std::nullopt;
    return found->second;
  }
  std::optional<NamespaceId> NameSpaceNamed(uint64_t name) const {
    const auto found =
        std::lower_bound(by_name_.begin(), by_name_.end(), name,
                         [](const Pair& pair, uint64_t wanted) { return pair.second < wanted; });
    if (found == by_name_.end() || found->second != name) return std::nullopt;
    return found->first;
  }
  void Add(NamespaceId name_space, uint64_t name) {
    by_name_space_.emplace_back(name_space, name);
    Sort();
  }
  size_t size() const { return by_name_space_.size(); }

 private:
  void Sort() {
    by_name_ = by_name_space_;
    std::stable_sort(by_name_space_.begin(), by_name_space_.end(),
                     [](const Pair& a, const Pair& b) { return a.first < b.first; });
    std::stable_sort(by_name_.begin(), by_name_.end(),
                     [](const Pair& a, const Pair& b) { return a.second < b.second; });
  }

  std::vector<Pair> by_name_space_;
  std::vector<Pair> by_name_;
};

// SlotParts: by the ids of checkpoints and segments, the position up to which slots hold their
// attention KV; and the segments of a conversation that is leaving its slot, of which more are
// coming. It is filled once and then asked for every object.
class SlotParts {
 public:
  struct Part {
    uint64_t id = 0;
    size_t end = 0;
  };

  SlotParts() = default;
  SlotParts(std::vector<Part> parts, std::vector<uint64_t> leaving)
      : parts_(std::move(parts)), leaving_(std::move(leaving)) {
    std::sort(leaving_.begin(), leaving_.end());
    std::sort(parts_.begin(), parts_.end(), [](const Part& a, const Part& b) {
      return a.id != b.id ? a.id < b.id : a.end > b.end;
    });
  }
  bool contains(uint64_t id) const { return EndOf(id) > 0; }
  bool IsLeaving(uint64_t id) const {
    return std::binary_search(leaving_.begin(), leaving_.end(), id);
  }
  // 0: no slot holds any of it.
  size_t EndOf(uint64_t id) const {
    const auto found = std::lower_bound(parts_.begin(), parts_.end(), id,
                                        [](const Part& part, uint64_t at) { return part.id < at; });
    return found == parts_.end() || found->id != id ? 0 : found->end;
  }

 private:
  std::vector<Part> parts_;        // sorted; of several with one id the longest first
  std::vector<uint64_t> leaving_;  // sorted
};

// The state of the slots, from which the cache judges what is worth keeping.
struct SlotsView {
  struct Held {
    NamespaceId name_space = 0;
    TokenSpan tokens;
    bool leaving = false;  // its contents are about to be lost and are being stored
  };
  // Attention KV alone does not suffice: resuming takes a snapshot.
  bool needs_snapshots = false;
  // A snapshot can only be restored together with the attention KV before it.
  bool snapshots_need_kv = false;
  size_t kv_bytes_per_token = 0;
  // Returns the present contents of each slot. Called while the cache makes room.
  std::function<std::vector<Held>()> held = {};
};

// The names under which objects are saved beyond this process.
struct SavedAs {
  Fingerprint fingerprint;
  // A name for each namespace. Objects of other namespaces are neither saved nor taken in.
  SavedNames name_spaces;
  // More namespaces may get a name later: objects of unknown ones wait for it, as far as there is
  // room for them.
  bool awaits_names = false;

  std::optional<NamespaceId> NameSpaceNamed(uint64_t name) const {
    return name_spaces.NameSpaceNamed(name);
  }
  std::optional<uint64_t> NameOf(NamespaceId name_space) const {
    return name_spaces.NameOf(name_space);
  }
};

// A checkpoint with its place in the tree and the record of its use.
struct CheckpointEntry {
  Checkpoint checkpoint;
  NamespaceId name_space = 0;
  const PrefixTree::Node* node = nullptr;
  uint64_t created_tick = 0;
  uint64_t used_tick = 0;
  // When an earlier or another process used it last; 0: this process has used it.
  int64_t used_before_ns = 0;
  uint64_t uses = 0;
  int pins = 0;
  SegmentId holder = 0;      // of the attention KV of its last token; 0 if that is not stored
  double keep_ms = 0;        // the time that Keep was called with
  double kept_until_ms = 0;  // by the caller's clock
  // The deepest kQuery of its path: where the next query resumes, however long the tool loop after
  // it grows.
  bool last_query = false;
  // A later prompt of its conversation has checkpoints of its own, so it serves only prompts that
  // go back.
  bool passed = false;
  // The class that counts for eviction: its own, or that of an evicted one whose prompts resume
  // here since, if that weighs more.
  CheckpointClass role = CheckpointClass::kInterval;
  // The deepest checkpoint up to here whose prompt's number of turns is known: its position and
  // that number. Match reports them as the neighbour. That checkpoint may have been evicted since.
  size_t prompt_tokens = 0;
  size_t prompt_turns = 0;
};

// The part of the budget that keeping the entry takes.
size_t KeptBytes(const CheckpointEntry& entry);

// ObjectChanges: the ids of the cache's objects that came, went, moved between memory and disk, or
// got or lost the attention KV before them. For whoever follows the cache without a walk over it.
class ObjectChanges {
 public:
  // Nothing is noted before.
  void Begin() { noted_ = true; }
  // To be called after a change.
  void Note(uint64_t id) {
    if (noted_) ids_.push_back(id);
  }
  // Returns those since the last call, ascending.
  std::vector<uint64_t> Take() {
    std::vector<uint64_t> ids = std::exchange(ids_, {});
    std::sort(ids.begin(), ids.end());
    ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
    return ids;
  }

 private:
  bool noted_ = false;
  std::vector<uint64_t> ids_;
};

class ObjectTable {
 public:
  explicit ObjectTable(std::unique_ptr<SnapshotStore> store) : store_(std::move(store)) {}

  SnapshotStore& store() const { return *store_; }
  PrefixTree& tree() { return tree_; }
  const PrefixTree& tree() const { return tree_; }
  SegmentIndex& segments() { return segments_; }
  const SegmentIndex& segments() const { return segments_; }
  FullStateIndex& full_states() { return full_states_; }
  const FullStateIndex& full_states() const { return full_states_; }
  std::unordered_map<CheckpointId, CheckpointEntry>& entries() { return entries_; }
  const std::unordered_map<CheckpointId, CheckpointEntry>& entries() const { return entries_; }
  // Returns nullptr if there is no such checkpoint.
  CheckpointEntry* FindEntry(CheckpointId id);
  // REQUIRES: there is such a checkpoint.
  CheckpointEntry& EntryOf(CheckpointId id);
  const CheckpointEntry& EntryOf(CheckpointId id) const;
  // Ids of checkpoints passed to Keep, whether or not their time is over.
  std::unordered_set<CheckpointId>& marked() { return marked_; }
  const std::unordered_set<CheckpointId>& marked() const { return marked_; }
  CacheStats& stats() { return stats_; }
  const CacheStats& stats() const { return stats_; }
  SlotsView& slots() { return slots_; }
  const SlotsView& slots() const { return slots_; }
  SavedAs& saved_as() { return saved_as_; }
  // The table notes checkpoints and segments that come, go and are linked, and full states that go.
  ObjectChanges& changes() { return changes_; }

  // Ids of checkpoints, segments and full states come from one sequence.
  uint64_t NextId() { return ++last_id_; }
  uint64_t NextTick() { return ++tick_; }
  uint64_t tick() const { return tick_; }
  // The caller's clock; it never goes back.
  void SetNow(double now_ms);
  double now_ms() const { return now_ms_; }

  // The memory that the budget counts: objects, and the tokens that they are found by.
  size_t TokenBytes() const {
    return tree_.bytes() + segments_.token_bytes() + full_states_.token_bytes();
  }
  size_t HeldBytes() const { return store_->bytes() + TokenBytes(); }
  // Whether the bytes can be had without reading them from disk.
  bool InMemory(uint64_t id) const;
  // False while the object is being written to disk, and while it is there.
  bool MayDrop(uint64_t id) const;
  bool IsKept(const CheckpointEntry& entry) const { return entry.kept_until_ms > now_ms_; }

  // Adds a checkpoint whose `tokens` are in the tree already.
  void AddEntry(CheckpointEntry entry, TokenSpan tokens);
  // Links to the new segment the checkpoints whose last token's KV it holds.
  void LinkCheckpoints(const SegmentIndex::Segment& segment, TokenSpan tokens);
  void Drop(CheckpointId id);
  void DropSegment(SegmentId id);
  void DropFullState(FullStateId id);
  // Removes an object whose bytes are gone, and the segments that begin in it. Does nothing while
  // it is in use.
  void Lose(uint64_t id);

  // CHECKs that the indices and the store agree. Costs a walk over all objects.
  void CheckInvariants() const;

 private:
  void SetHolder(CheckpointEntry* entry, SegmentId holder);
  void NotePrompt(CheckpointEntry* entry) const;

  const std::unique_ptr<SnapshotStore> store_;
  PrefixTree tree_;  // a root for each namespace; values are ids of checkpoints
  std::unordered_map<CheckpointId, CheckpointEntry> entries_;
  SegmentIndex segments_;
  FullStateIndex full_states_;
  std::unordered_set<CheckpointId> marked_;
  SlotsView slots_;
  SavedAs saved_as_;
  CacheStats stats_;
  uint64_t last_id_ = 0;
  uint64_t tick_ = 0;
  double now_ms_ = 0;
  ObjectChanges changes_;
};

// Returns the count of uses that keep the object from being evicted. REQUIRES: there is such an
// object.
int& PinsOf(ObjectTable* table, uint64_t id);
// Returns the size of the object's bytes. REQUIRES: there is such an object.
size_t BytesOf(const ObjectTable& table, uint64_t id);

// Checkpoints whose attention KV a slot holds, and segments of which a slot holds a part.
SlotParts PartsInSlots(const ObjectTable& table);

// Whether the object's bytes are in memory only.
inline bool IsUnsaved(const ObjectTable& table, uint64_t id) {
  return table.store().PlaceOf(id) == SnapshotStore::Place::kUnsaved;
}

}  // namespace cairn

#endif  // CAIRN_CACHE_OBJECTS_OBJECT_TABLE_H_
