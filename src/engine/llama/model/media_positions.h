// MediaPositions: converts between the tokens of a sequence and libllama's positions. They differ
// only behind an image in a model with M-RoPE, whose rows share positions:
//
//   tokens      0 … 9 | image: 10 … 265 | 266 …
//   positions   0 … 9 | 10 … 25         | 26 …
//
// Threads: the one that owns the context. For src/engine/llama/ only.

#ifndef CAIRN_ENGINE_LLAMA_MODEL_MEDIA_POSITIONS_H_
#define CAIRN_ENGINE_LLAMA_MODEL_MEDIA_POSITIONS_H_

#include <cstddef>
#include <map>
#include <vector>

#include "base/tokens.h"
#include "engine/engine.h"
#include "media/media_tokens.h"

namespace cairn {

class MediaPositions {
 public:
  // The media of `seq` are those in `tokens` from now on.
  void Set(SeqId seq, TokenSpan tokens);
  // Adds one behind the others.
  void Add(SeqId seq, const MediumRange& medium);
  // Forgets those at and after `tokens`.
  void CutTo(SeqId seq, size_t tokens);
  // Makes `to` have the media of `from`.
  void Copy(SeqId from, SeqId to);

  // The position of the token at index `tokens`. REQUIRES: it is not inside a medium.
  size_t At(SeqId seq, size_t tokens) const;
  // The number of tokens of a sequence whose last position is `positions` - 1.
  size_t TokensAt(SeqId seq, size_t positions) const;

 private:
  // Only media with fewer positions than rows.
  std::map<SeqId, std::vector<MediumRange>> media_;
};

}  // namespace cairn

#endif  // CAIRN_ENGINE_LLAMA_MODEL_MEDIA_POSITIONS_H_
