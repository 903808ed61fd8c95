// Embedder: makes vectors of texts. Apart from Engine: it keeps no sequences, and nothing it does
// touches the context that answers.
//
// Threads: any, at the same time; texts are taken one after the other.

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

  // Numbers in a vector.
  virtual size_t size() const = 0;
  // Tokens that one text may have.
  virtual size_t tokens_max() const = 0;

  // The vector of one text, of length 1; all zeros where the model gives zeros. The same tokens
  // give the same vector. kInvalidArgument: there are no tokens. kTooLong: there are too many.
  // kNoSpace: there is no memory to work in. kInternal: it could not be computed.
  virtual Result<std::vector<float>> Embed(TokenSpan tokens) = 0;
};

}  // namespace cairn

#endif  // CAIRN_ENGINE_EMBED_EMBEDDER_H_
