// Media in sequences of tokens. The rows of embeddings of an image or a recording take as many
// places of a sequence, so the sequence has a *media token* for each. They are made from a hash of
// all that the rows depend on; so two sequences share the tokens of a medium if and only if they
// have the same medium there, and everything that compares, stores and counts tokens works with
// media too.
//
//   tokens   … 151652 | f  p  m2 … m255 | 151653 …
//   f        the first: 29 bits of the hash
//   p        12 bits of the hash, and the number of positions that the medium takes up
//   m2…      29 bits of the hash each
//
// A model with M-RoPE gives the rows of an image positions that repeat. So a sequence has fewer
// positions than tokens after it; PositionsOf says how many. For all other models both are the
// same, and nobody asks.
//
// Pure; any thread.

#ifndef CAIRN_MEDIA_MEDIA_TOKENS_H_
#define CAIRN_MEDIA_MEDIA_TOKENS_H_

#include <cstddef>

#include "base/hash.h"
#include "base/tokens.h"

namespace cairn {

// Fewer rows have too few bits to tell media apart.
inline constexpr size_t kMediumRowsMin = 4;
inline constexpr size_t kMediumPositionsMax = 0xFFFF;

// Returns the tokens of a medium, or of one of its pieces. REQUIRES: rows >= kMediumRowsMin,
// positions <= kMediumPositionsMax.
Tokens MediaTokens(const Bits128& key, size_t rows, size_t positions);

// Whether any of the tokens is of a medium.
bool HasMedia(TokenSpan tokens);

// The rows and positions of one medium in a sequence.
struct MediumRange {
  size_t begin = 0;
  size_t end = 0;
  size_t positions = 0;

  friend bool operator==(const MediumRange&, const MediumRange&) = default;
};

// Returns the medium that begins at `begin`. REQUIRES: the token there is the first of a medium.
MediumRange MediumAt(TokenSpan tokens, size_t begin);
// Returns the media in `tokens`, in order.
std::vector<MediumRange> MediaIn(TokenSpan tokens);
// Returns the positions that `tokens` take up. REQUIRES: they end with no part of a medium.
size_t PositionsOf(TokenSpan tokens);

}  // namespace cairn

#endif  // CAIRN_MEDIA_MEDIA_TOKENS_H_
