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

#include "base/tokens.h"
#include "engine/engine.h"

namespace cairn {

class MtpHeads {
 public:
  virtual ~MtpHeads() = default;
  // Returns the heads' likeliest tokens behind `next`, which is not decoded yet and follows the
  // tokens of `seq`: at most `tokens_max`, and only as long as each has at least the probability
  // `p_min`. Empty if the heads cannot tell; then they begin again. The sequence is unchanged.
  // REQUIRES: the sequence has room for `next` and as many tokens.
  virtual Tokens Draft(SeqId seq, Token next, size_t tokens_max, double p_min) = 0;
  // Returns how many of the last tokens of `seq` the heads know.
  virtual size_t KnownTokens(SeqId seq) const = 0;
};

}  // namespace cairn

#endif  // CAIRN_ENGINE_MTP_HEADS_H_
