// Provenance: records, by position, which computation produced the state of a sequence.
//
// The bits of a state depend on where its prompt was cut into chunks. If all cuts are at multiples
// of the grid, the bits are always the same. A sequence is therefore *clean* up to a position:
// prefilled in chunks that began and ended on the grid, as in any cold run. Tokens of an answer,
// decoded one by one, are not clean, and neither are tokens prefilled after them. Such bits belong
// to one uninterrupted *run*:
//
//    0                     clean        begin of run 8         end
//    |  prompt, on the grid  |  run 7 …   |  run 8 …             |
//
// Resuming from within a run and continuing begins a new run, so the tokens of a run never branch:
// a run's number and a position identify one state, bit for bit.
//
// A value; any thread.

#ifndef CAIRN_BASE_PROVENANCE_H_
#define CAIRN_BASE_PROVENANCE_H_

#include <cstddef>
#include <cstdint>
#include <vector>

namespace cairn {

// The number of a run; 0 stands for bits on the grid, which belong to no run.
using LineageId = uint64_t;

// Covers the positions from `begin` to the next run's begin, or to the end.
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
  // Answers: ranges of tokens that were decoded one by one. Shallowest first.
  std::vector<TokenRange> answers = {};

  // The lineage of the token before `position`.
  LineageId LineageAt(size_t position) const;
  // Removes all records of positions at and after `position`.
  void CutTo(size_t position);
  // Appends a range, of one run or of the grid, at the end. `in_range` holds the answers that begin
  // or continue in the range; they may extend past its end. REQUIRES: no grid range is appended
  // after a run.
  void Append(const TokenRange& range, LineageId lineage, const std::vector<TokenRange>& in_range);
  // Returns the parts of answers that lie in the range.
  std::vector<TokenRange> AnswersIn(const TokenRange& range) const;
};

// Returns up to where two sequences hold the same bits, given that their first `shared` tokens are
// equal.
size_t SharedBits(const Provenance& a, const Provenance& b, size_t shared);

}  // namespace cairn

#endif  // CAIRN_BASE_PROVENANCE_H_
