// SegmentIndex: which attention KV is stored, and how stored ranges follow one another. It holds no
// bytes: those are in a store, under the same number.
//
// A segment is the KV of positions [begin, end) of some sequence. It begins where its parent is
// left: anywhere in it, for a range that was read can be cut short when it comes back. So a prefix
// is stored once, however many conversations go on from it:
//
//    A  [0 ------------------------ 900)          header and first conversation
//          B  [600 ------- 1400)                  parted from it at 600; uses A's [0, 600)
//                    C  [1400 -- 1500)            what B's conversation grew by later
//
// Segments on the grid are found by their tokens, whoever asks. Those off it belong to a run
// (base/provenance.h) and are found by its number.
//
// A segment that others begin in cannot be given up before them; so what is stored of a path is
// always all of it from 0 on.
//
// Threads: called by one thread.

#ifndef CAIRN_CACHE_SEGMENT_INDEX_H_
#define CAIRN_CACHE_SEGMENT_INDEX_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include "base/provenance.h"
#include "base/tokens.h"
#include "tree/prefix_tree.h"

namespace cairn {

using NamespaceId = PrefixTree::RootId;
using SegmentId = uint64_t;

// A range of a sequence whose KV is not stored. `lineage`: of its run, 0 on the grid.
struct SegmentGap {
  size_t begin = 0;
  size_t end = 0;
  LineageId lineage = 0;

  friend bool operator==(const SegmentGap&, const SegmentGap&) = default;
};

// The same ranges in pieces of at most so many tokens.
std::vector<SegmentGap> CutInto(const std::vector<SegmentGap>& ranges, size_t tokens_max);

class SegmentIndex {
 public:
  struct Segment {
    SegmentId id = 0;
    NamespaceId name_space = 0;
    SegmentGap range;
    SegmentId parent = 0;  // 0: it begins at 0
    size_t bytes = 0;
    size_t children = 0;
    int pins = 0;
    uint64_t created_tick = 0;
    uint64_t used_tick = 0;
    uint64_t uses = 0;
    std::vector<TokenRange> answers = {};  // those that begin or go on in it
    // Checkpoints whose last token's KV it holds: they go nowhere without it.
    std::vector<uint64_t> checkpoints = {};
    const PrefixTree::Node* node = nullptr;  // on the grid
    Tokens run_tokens = {};                  // off it: those of its range
  };
  // What a path uses of a segment: [begin, end), its front or all of it.
  struct Link {
    SegmentId id = 0;
    size_t begin = 0;
    size_t end = 0;
  };

  // How many of the tokens have their KV stored, on the grid.
  size_t StoredTo(NamespaceId name_space, TokenSpan tokens) const;

  // The segment that holds the KV of `prefix`'s last token, which is of `lineage`; 0: it is not
  // stored. Where it is, so is all before it.
  SegmentId HolderOf(NamespaceId name_space, TokenSpan prefix, LineageId lineage) const;
  // The segment on the grid that ends with just these tokens; 0: there is none.
  SegmentId EndsAt(NamespaceId name_space, TokenSpan tokens) const;
  // Where what is stored of a run ends; 0: nothing is.
  size_t RunEnd(LineageId lineage) const;
  // The tokens of its sequence, from 0 to its end.
  Tokens TokensOf(SegmentId id) const;
  // Itself and all that begin in it or in those, deepest first. Looks at every segment.
  std::vector<SegmentId> Subtree(SegmentId id) const;
  // The segments that hold the KV of `prefix`, whose last token is of `lineage`; none when not all
  // of it is stored.
  std::vector<Link> PathTo(NamespaceId name_space, TokenSpan prefix, LineageId lineage) const;
  // The segments on the grid that lead along `tokens` as far as they are stored.
  std::vector<Link> PathAlong(NamespaceId name_space, TokenSpan tokens) const;
  // Of a sequence assembled from that path.
  Provenance ProvenanceOf(const std::vector<Link>& path) const;

  // What of a sequence is not stored yet, shallowest first.
  std::vector<SegmentGap> Gaps(NamespaceId name_space, TokenSpan tokens,
                               const Provenance& provenance) const;
  // The segment in which a new one that fills `gap` begins; 0 when it begins at 0. Nothing: what
  // comes before the gap is not stored.
  std::optional<SegmentId> ParentFor(NamespaceId name_space, TokenSpan tokens,
                                     const Provenance& provenance, const SegmentGap& gap) const;

  // `segment` comes with its id, namespace, range, parent, bytes and tick. `tokens`: of its
  // sequence.
  void Add(Segment segment, TokenSpan tokens, const Provenance& provenance);
  // REQUIRES: no children, no pins.
  void Remove(SegmentId id);

  const Segment& Get(SegmentId id) const;
  Segment& Get(SegmentId id);
  const std::unordered_map<SegmentId, Segment>& segments() const { return segments_; }

  // What the tokens of segments take in memory.
  size_t token_bytes() const { return on_grid_.bytes() + run_token_bytes_; }
  // Of these, what goes with `segment`.
  static size_t TokenBytesFreedBy(const Segment& segment);

  // CHECKs that tree, runs and segments agree.
  void CheckInvariants() const;

 private:
  // Walks up from `id` to the segment that holds the token before `position`.
  SegmentId HolderOf(SegmentId id, size_t position) const;
  SegmentId InRun(LineageId lineage, size_t position) const;
  SegmentId OnGrid(NamespaceId name_space, TokenSpan prefix) const;
  SegmentId HolderAt(const PrefixTree::MatchResult& match) const;
  std::vector<Link> PathFrom(SegmentId id, size_t end) const;

  std::unordered_map<SegmentId, Segment> segments_;
  PrefixTree on_grid_;  // a root for each namespace; values are segment ids
  std::unordered_map<LineageId, std::vector<SegmentId>> runs_;  // shallowest first
  size_t run_token_bytes_ = 0;
};

}  // namespace cairn

#endif  // CAIRN_CACHE_SEGMENT_INDEX_H_
