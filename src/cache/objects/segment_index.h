// SegmentIndex: indexes the stored ranges of attention KV and how they follow one another. It holds
// no bytes: the store holds them under the same id.
//
// A segment is the KV of positions [begin, end) of a sequence. It begins anywhere inside its
// parent, because a stored range can be truncated when it is restored. So a prefix is stored once,
// however many conversations continue it:
//
//   A  [0 ------------------------ 900)          system prefix and first conversation
//         B  [600 ------- 1400)                  diverged from A at 600; uses A's [0, 600)
//                   C  [1400 -- 1500)            what B's conversation grew by later
//
// Segments on the grid are found by their tokens and are shared by all prompts. Segments off the
// grid belong to a run (base/provenance.h) and are found by its number.
//
// A segment in which others begin cannot be evicted before them. So the stored part of a path is
// always contiguous from 0.
//
// Threads: called by one thread.

#ifndef CAIRN_CACHE_OBJECTS_SEGMENT_INDEX_H_
#define CAIRN_CACHE_OBJECTS_SEGMENT_INDEX_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include "base/provenance.h"
#include "base/tokens.h"
#include "tree/prefix_tree.h"
#include "tree/prompt_cuts.h"

namespace cairn {

using NamespaceId = PrefixTree::RootId;
using SegmentId = uint64_t;

// A range of a sequence whose KV is not stored. `lineage`: the number of its run, 0 on the grid.
struct SegmentGap {
  size_t begin = 0;
  size_t end = 0;
  LineageId lineage = 0;

  friend bool operator==(const SegmentGap&, const SegmentGap&) = default;
};

// Returns the same ranges, cut into gaps of at most `tokens_max` tokens.
std::vector<SegmentGap> CutInto(const std::vector<SegmentGap>& ranges, size_t tokens_max,
                                const PromptCuts& cuts = {});

class SegmentIndex {
 public:
  struct Segment {
    SegmentId id = 0;
    NamespaceId name_space = 0;
    SegmentGap range;
    SegmentId parent = 0;  // 0 if it begins at position 0
    size_t bytes = 0;
    size_t children = 0;
    int pins = 0;
    uint64_t created_tick = 0;
    uint64_t used_tick = 0;
    // When an earlier or another process used it last; 0: this process has used it.
    int64_t used_before_ns = 0;
    uint64_t uses = 0;
    std::vector<TokenRange> answers = {};  // the answers that begin or continue in it
    // Checkpoints whose last token's KV it holds; they cannot be resumed from without it.
    std::vector<uint64_t> checkpoints = {};
    const PrefixTree::Node* node = nullptr;  // set if on the grid
    Tokens run_tokens = {};                  // set if off the grid: the tokens of its range
  };
  // The part of a segment that a path uses: [begin, end), its front or all of it.
  struct Link {
    SegmentId id = 0;
    size_t begin = 0;
    size_t end = 0;
  };

  // Returns how many of the tokens have their KV stored, on the grid.
  size_t StoredTo(NamespaceId name_space, TokenSpan tokens) const;

  // Returns the segment that holds the KV of `prefix`'s last token, which is of `lineage`; 0 if it
  // is not stored. If it is stored, so is all KV before it.
  SegmentId HolderOf(NamespaceId name_space, TokenSpan prefix, LineageId lineage) const;
  // Returns the segment on the grid that ends with exactly these tokens; 0 if there is none.
  SegmentId EndsAt(NamespaceId name_space, TokenSpan tokens) const;
  // Returns the end of a run's stored part; 0 if none of it is stored.
  size_t RunEnd(LineageId lineage) const;
  // Returns the tokens of the segment's sequence, from 0 to the segment's end.
  Tokens TokensOf(SegmentId id) const;
  // Returns the segment and all its descendants, deepest first. Walks over every segment.
  std::vector<SegmentId> Subtree(SegmentId id) const;
  // Returns the segments that hold the KV of `prefix`, whose last token is of `lineage`; empty if
  // not all of it is stored.
  std::vector<Link> PathTo(NamespaceId name_space, TokenSpan prefix, LineageId lineage) const;
  // Returns the segments on the grid along `tokens`, as far as they are stored.
  std::vector<Link> PathAlong(NamespaceId name_space, TokenSpan tokens) const;
  // Returns the segments that hold the KV up to `end`, whose last token is in segment `id`.
  std::vector<Link> PathFrom(SegmentId id, size_t end) const;
  // Returns the provenance of a sequence assembled from `path`.
  Provenance ProvenanceOf(const std::vector<Link>& path) const;

  // Returns the ranges of a sequence that are not stored yet, shallowest first.
  std::vector<SegmentGap> Gaps(NamespaceId name_space, TokenSpan tokens,
                               const Provenance& provenance, const PromptCuts& cuts = {}) const;
  // Returns the segment in which a new one that fills `gap` begins; 0 if it begins at position 0.
  // Returns nullopt if the range before the gap is not stored.
  std::optional<SegmentId> ParentFor(NamespaceId name_space, TokenSpan tokens,
                                     const Provenance& provenance, const SegmentGap& gap) const;

  // `segment` comes with its id, namespace, range, parent, bytes and tick. `tokens`: those of its
  // sequence.
  void Add(Segment segment, TokenSpan tokens, const Provenance& provenance);
  // REQUIRES: no children, no pins.
  void Remove(SegmentId id);

  const Segment& Get(SegmentId id) const;
  Segment& Get(SegmentId id);
  const std::unordered_map<SegmentId, Segment>& segments() const { return segments_; }

  // Memory that the tokens of all segments take.
  size_t token_bytes() const { return on_grid_.bytes() + run_token_bytes_; }
  // The part of token_bytes that removing `segment` frees.
  static size_t TokenBytesFreedBy(const Segment& segment);

  // CHECKs that tree, runs and segments agree.
  void CheckInvariants() const;

 private:
  // Walks up from `id` to the segment that holds the token before `position`.
  SegmentId HolderOf(SegmentId id, size_t position) const;
  SegmentId InRun(LineageId lineage, size_t position) const;
  SegmentId OnGrid(NamespaceId name_space, TokenSpan prefix) const;
  SegmentId HolderAt(const PrefixTree::MatchResult& match) const;

  std::unordered_map<SegmentId, Segment> segments_;
  PrefixTree on_grid_;  // a root for each namespace; values are segment ids
  std::unordered_map<LineageId, std::vector<SegmentId>> runs_;  // shallowest first
  size_t run_token_bytes_ = 0;
};

// FullStateIndex: indexes the stored full states of slots. Where attention KV cannot be cut into
// segments (architectures outside the verified table, contexts with one stream per slot), the state
// that a slot is about to lose is stored in full: all its KV and the state at its end. Restored
// into a slot, it offers the same resume paths as before: its end, a truncation, or a snapshot on
// its path.
//
//   slot    | system prefix | conversation A ... |   B takes the slot
//   stored  [ the full state, 3,200 tokens       ]   A returns: it is restored, and continued or
//                                                    truncated
//
// The index holds no bytes: the store holds them under the same id. A prefix that two full states
// share is stored twice, because neither can be cut.
//
// Threads: called by one thread.

using FullStateId = uint64_t;

struct FullState {
  FullStateId id = 0;
  NamespaceId name_space = 0;
  Tokens tokens = {};
  Provenance provenance = {};
  size_t bytes = 0;
  int pins = 0;
  uint64_t created_tick = 0;
  uint64_t used_tick = 0;
  // When an earlier or another process used it last; 0: this process has used it.
  int64_t used_before_ns = 0;
  uint64_t uses = 0;
};

class FullStateIndex {
 public:
  // Returns the full states that begin as `prompt` does, oldest first; valid until Add or Remove.
  // Compares with every stored one: they are large, so there are few.
  std::vector<const FullState*> Sharing(NamespaceId name_space, TokenSpan prompt) const;
  // Returns the full states that `whole` contains bit for bit, so that it can replace them.
  std::vector<FullStateId> Within(const FullState& whole) const;

  void Add(FullState whole);
  // REQUIRES: no pins.
  void Remove(FullStateId id);
  bool Holds(FullStateId id) const { return full_states_.contains(id); }
  FullState& Get(FullStateId id);
  const std::unordered_map<FullStateId, FullState>& full_states() const { return full_states_; }
  // Memory that the tokens of all full states take.
  size_t token_bytes() const { return token_bytes_; }

 private:
  std::unordered_map<FullStateId, FullState> full_states_;
  size_t token_bytes_ = 0;
};

}  // namespace cairn

#endif  // CAIRN_CACHE_OBJECTS_SEGMENT_INDEX_H_
