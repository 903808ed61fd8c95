// MtpHeads: layers of a model that predict tokens beyond the next one (multi-token prediction,
// NextN). They draft an answer's tokens for the cost of a layer each.
//
//   model   … x7 x8 | x9            x9 is sampled, not decoded yet
//   heads   (x8, hidden state behind x7)  …  (x9, behind x8) -> x10, then x11, x12 by themselves
//
// The heads have attention KV of their own. The engine keeps it in step with its sequences: it is
// cut, forked, stored and restored with them, and so is the hidden state behind the last token.
// Where it is missing, the heads begin again at the next decode, and know the tokens from there on.
// What they know changes drafts, never an answer.
//
// Threads: the one that owns the engine's context.

#ifndef CAIRN_ENGINE_MTP_HEADS_H_
#define CAIRN_ENGINE_MTP_HEADS_H_

#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include "base/tokens.h"
#include "engine/engine.h"

namespace cairn {

class MtpHeads {
 public:
  virtual ~MtpHeads() = default;

  // A draft of at most `tokens_max` tokens behind `next`, which is not decoded yet and follows the
  // tokens of `seq`.
  struct Wish {
    SeqId seq = 0;
    Token next = 0;
    size_t tokens_max = 0;
  };
  // Returns the heads' likeliest tokens for each wish, as long as each has at least the probability
  // `p_min`; none where the heads cannot tell, and then begin again. The sequences are unchanged.
  // REQUIRES: each sequence is named once, and has room for `next` and as many tokens.
  virtual std::vector<Tokens> DraftEach(std::span<const Wish> wishes, double p_min) = 0;
  Tokens Draft(SeqId seq, Token next, size_t tokens_max, double p_min) {
    const Wish wish = {seq, next, tokens_max};
    return std::move(DraftEach({&wish, 1}, p_min).front());
  }
  // Returns how many of the last tokens of `seq` the heads know.
  virtual size_t KnownTokens(SeqId seq) const = 0;
};

}  // namespace cairn

#endif  // CAIRN_ENGINE_MTP_HEADS_H_
