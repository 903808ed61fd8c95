// Reranker: says how well documents answer a query. Beside Embedder: it keeps no sequences, and
// nothing it does touches the context that answers.
//
// Threads: any, at the same time; texts are taken one after the other.

#ifndef CAIRN_ENGINE_EMBED_RERANKER_H_
#define CAIRN_ENGINE_EMBED_RERANKER_H_

#include <cstddef>
#include <string>

#include "base/result.h"
#include "base/tokens.h"

namespace cairn {

// How a query and a document become one text.
struct RerankLayout {
  // Text with {query} and {document} in it, which may hold special tokens; empty: the model has
  // none, and the tokens below stand around the two.
  std::string prompt_template;
  Tokens before;
  Tokens between;
  Tokens after;
};

class Reranker {
 public:
  virtual ~Reranker() = default;

  virtual const RerankLayout& layout() const = 0;
  // Tokens that query and document may have together, with what stands around them.
  virtual size_t tokens_max() const = 0;

  // The higher, the better the document answers; which numbers are high, the model decides. The
  // same tokens give the same score. Errors: those of Embedder::Embed.
  virtual Result<float> Score(TokenSpan tokens) = 0;
};

}  // namespace cairn

#endif  // CAIRN_ENGINE_EMBED_RERANKER_H_
