// PromptCuts: the positions at which a prompt may be cut into chunks without changing a bit.
//
// The bits of a state depend on where its prompt was cut. So the cuts are a function of the tokens
// before them alone, and a run that resumes at one of them computes the same bits as a cold run:
//
//   tokens   … <|im_end|> \n <|im_start|> user \n …150 tokens… <|im_end|> \n <|im_start|> user …
//   boundary                             ^ b                                             ^ b'
//   inner cuts                             b + 64, b + 128
//   chunks                                [b, b + 128) [b + 128, b') …
//
// A *boundary* lies behind every message-start token. One that is less than CutRules::GapAt behind
// the one before it does not count. Every run ends a chunk at each boundary, and at the last
// inner cut before it: a multiple of the grid, counted from the boundary before. The chunks end at
// other inner cuts wherever there is a reason; that changes no bit, as far as ProbeGrid can tell.
// The last inner cut before the prompt's end is treated like one before a boundary. Without
// message-start tokens, cuts are the multiples of the grid.
//
// A medium (media/media_tokens.h) begins and ends at boundaries, however near to others, and has no
// cut inside: it is decoded in one call. Without message-start tokens the grid must not begin anew
// behind it (sliding windows), so its next multiple is a boundary too:
//
//   | 0 … 64 … 128 … m | medium | e … 448 | 512 …
//
// A value; any thread.

#ifndef CAIRN_TREE_PROMPT_CUTS_H_
#define CAIRN_TREE_PROMPT_CUTS_H_

#include <cstddef>
#include <vector>

#include "base/provenance.h"
#include "base/tokens.h"

namespace cairn {

// Each boundary ends a chunk, and each chunk reads the weights once more.
inline constexpr size_t kBoundaryGapTokens = 8;
// Longer gaps make no chunk longer.
inline constexpr size_t kBoundaryGapTokensMax = 1024;

struct CutRules {
  size_t grid_tokens = 64;
  // The tokens that begin a message (api/prompt/message_starts.h), in any order.
  Tokens message_starts = {};
  // Each chunk also reads the attention KV of all tokens before it. So the gap between boundaries
  // grows with the position: to a part of it, one by this number. 0: it does not grow.
  size_t gap_divisor = 0;

  bool Starts(Token token) const;
  // Returns the least gap between a boundary at `position` and the one before it.
  size_t GapAt(size_t position) const;
};

class PromptCuts {
 public:
  // An empty prompt; every position is a cut.
  PromptCuts() : PromptCuts(CutRules{1}, {}) {}
  PromptCuts(const CutRules& rules, TokenSpan tokens);
  // A prompt of `tokens` tokens whose boundaries are known.
  PromptCuts(size_t grid_tokens, size_t tokens, std::vector<size_t> boundaries = {});

  // For a prompt that grows: adds what `tokens`, the whole of it, has more than before. `rules`:
  // always the same.
  void Extend(const CutRules& rules, TokenSpan tokens);
  // Leaves the first `tokens` tokens.
  void CutTo(size_t tokens);
  // Makes `position` a cut too, for a checkpoint where `live` leaves the grid (cache/resume.h). A
  // second call replaces the first one's.
  void AllowOffGrid(size_t position) { off_grid_ = position; }

  size_t grid_tokens() const { return grid_tokens_; }
  // The length of the prompt.
  size_t tokens() const { return tokens_; }
  // Whether a medium begins at `position`.
  bool IsMedium(size_t position) const;
  // The boundaries, shallowest first; 0 is none of them.
  const std::vector<size_t>& boundaries() const { return boundaries_; }

  // The last boundary at or before `position`; 0 if there is none.
  size_t BoundaryAtOrBefore(size_t position) const;
  // The first boundary after `position`, or the prompt's end.
  size_t BoundaryAfter(size_t position) const;

  // The deepest cut at or before `position`; 0 counts as a cut. Prompts that share the tokens up to
  // `position` have this cut in common, and all bits before it.
  size_t AtOrBefore(size_t position) const;
  // The first cut after `position`, or the prompt's end.
  size_t After(size_t position) const;
  bool Has(size_t position) const { return AtOrBefore(position) == position; }
  // The last cut before the end: where a cold run's last chunk begins. REQUIRES: the prompt is not
  // empty.
  size_t Last() const { return AtOrBefore(tokens_ - 1); }
  // Where the first medium after `position` begins, or the prompt's end.
  size_t MediumAfter(size_t position) const;
  // Where the first chunk after an answer ends that has at least `tokens_min` tokens, or fewer
  // where a medium begins: the answer's end is seldom a cut, and a chunk of a few tokens costs as
  // much as a long one.
  size_t FirstAfterAnswer(size_t answer_end, size_t tokens_min) const;
  // The cut for a checkpoint that is wanted at `position`: directly before a message-start token it
  // is the boundary behind that token, which the next prompt has too.
  size_t ForCheckpoint(size_t position) const;
  // Returns how far a sequence is as a cold run would have computed it, after prefill of `chunk`.
  size_t CleanAfter(size_t clean_before, const TokenRange& chunk) const;

 private:
  void AddBoundary(size_t position);
  // Adds those of the medium that begins or ends with the token `index`.
  void AddMediaBoundaries(TokenSpan tokens, size_t index);
  // Whether `position` is the first multiple of the grid behind a medium.
  bool RealignsAt(size_t position) const;

  size_t grid_tokens_;
  size_t tokens_;
  std::vector<size_t> boundaries_;
  std::vector<size_t> media_;  // where media begin, shallowest first
  size_t off_grid_ = 0;        // 0: none
};

}  // namespace cairn

#endif  // CAIRN_TREE_PROMPT_CUTS_H_
