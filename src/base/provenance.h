// Provenance: whose bits a sequence holds, position by position.
//
// Bits depend on where a prompt was cut into pieces; cut only at multiples of the grid, they are
// always the same. So a sequence knows how far it is *clean*: read in pieces that began and ended
// on the grid, as any cold run is. An answer's tokens, decoded one by one, are not, and neither is
// what was read after them. Such bits belong to one uninterrupted *run*:
//
//    0                     clean        begin of run 8         end
//    |  prompt, on the grid  |  run 7 …   |  run 8 …             |
//
// Whoever goes back into a run and reads on begins a new one, so the tokens of a run never branch:
// a run's number and a position name one state, to the bit.
//
// A value; any thread.

#ifndef CAIRN_BASE_PROVENANCE_H_
#define CAIRN_BASE_PROVENANCE_H_

#include <cstddef>
#include <cstdint>
#include <vector>

namespace cairn {

// The number of a run; 0 is no run: bits that lie on the grid.
using LineageId = uint64_t;

// Positions from `begin` to the next run's begin, or to the end.
struct Run {
  LineageId lineage = 0;
  size_t begin = 0;

  friend bool operator==(const Run&, const Run&) = default;
};

// Positions [begin, end).
struct TokenRange {
  size_t begin = 0;
  size_t end = 0;

  friend bool operator==(const TokenRange&, const TokenRange&) = default;
};

struct Provenance {
  size_t clean = 0;
  // Shallowest first; the first begins at `clean`.
  std::vector<Run> runs = {};
  // Answers: tokens that were decoded one by one. Shallowest first.
  std::vector<TokenRange> answers = {};

  // Of the token before `position`.
  LineageId LineageAt(size_t position) const;
  // Forgets what is known of positions at and after `position`.
  void CutTo(size_t position);
  // Goes on with the range behind its end, of one run or of the grid. `in_range`: the answers that
  // begin or go on in the range; they may go on behind it.
  // REQUIRES: nothing comes back to the grid that has left it.
  void Append(const TokenRange& range, LineageId lineage, const std::vector<TokenRange>& in_range);
  // The answers' parts that lie in the range.
  std::vector<TokenRange> AnswersIn(const TokenRange& range) const;
};

// How far two sequences hold the same bits, when their first `shared` tokens are the same.
size_t SharedBits(const Provenance& a, const Provenance& b, size_t shared);

}  // namespace cairn

#endif  // CAIRN_BASE_PROVENANCE_H_
