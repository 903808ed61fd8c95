// Embedder: computes embedding vectors of texts. Separate from Engine: it keeps no sequences and
// does not touch the context that generates answers.
//
// Threads: any, at the same time; texts are processed one after the other.

#ifndef CAIRN_ENGINE_EMBED_EMBEDDER_H_
#define CAIRN_ENGINE_EMBED_EMBEDDER_H_

#include <cstddef>
#include <vector>

#include "base/result.h"
#include "base/tokens.h"

namespace cairn {

class Embedder {
 public:
  virtual ~Embedder() = default;

  // The dimension of the vectors.
  virtual size_t size() const = 0;
  // The most tokens that one text may have.
  virtual size_t tokens_max() const = 0;

  // Returns the vector of one text, normalized to length 1; all zeros if the model gives zeros. The
  // same tokens give the same vector. kInvalidArgument if there are no tokens. kTooLong if there
  // are too many. kNoSpace if there is no memory to work in. kInternal if the computation failed.
  virtual Result<std::vector<float>> Embed(TokenSpan tokens) = 0;
};

}  // namespace cairn

#endif  // CAIRN_ENGINE_EMBED_EMBEDDER_H_
