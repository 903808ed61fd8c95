// Reranker: scores how well documents answer a query. Like Embedder, it keeps no sequences and does
// not touch the context that generates answers.
//
// Threads: any, at the same time; texts are processed one after the other.

#ifndef CAIRN_ENGINE_EMBED_RERANKER_H_
#define CAIRN_ENGINE_EMBED_RERANKER_H_

#include <cstddef>
#include <string>

#include "base/result.h"
#include "base/tokens.h"
#include "engine/embed/embedder.h"

namespace cairn {

// How a query and a document become one text.
struct RerankLayout {
  // Text with {query} and {document} in it, which may contain special tokens. Empty if the model
  // has none; then the tokens below surround the two.
  std::string prompt_template;
  Tokens before;
  Tokens between;
  Tokens after;
};

class Reranker {
 public:
  virtual ~Reranker() = default;

  virtual const RerankLayout& layout() const = 0;
  // The most tokens that query and document may have together, including those around them.
  virtual size_t tokens_max() const = 0;

  // Returns a score: the higher, the better the document answers. Its scale depends on the model.
  // The same tokens give the same score. Errors as in Embedder::Embed.
  virtual Result<float> Score(TokenSpan tokens) = 0;

  virtual TextCounts counts() const { return {}; }
};

}  // namespace cairn

#endif  // CAIRN_ENGINE_EMBED_RERANKER_H_
