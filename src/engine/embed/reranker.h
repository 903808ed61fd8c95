// Reranker: scores how well documents answer a query. Like Embedder, it keeps no sequences and does
// not touch the context that generates answers.
//
// Threads: any, at the same time; texts are processed one after the other.

#ifndef CAIRN_ENGINE_EMBED_RERANKER_H_
#define CAIRN_ENGINE_EMBED_RERANKER_H_

#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <vector>

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

  // Returns the scores of several texts, in their order, as Embedder::EmbedAll.
  virtual Result<std::vector<float>> ScoreAll(std::span<const TokenSpan> texts,
                                              const std::function<bool()>& gone);

  virtual TextCounts counts() const { return {}; }
};

inline Result<std::vector<float>> Reranker::ScoreAll(std::span<const TokenSpan> texts,
                                                     const std::function<bool()>& gone) {
  std::vector<float> scores;
  for (const TokenSpan& text : texts) {
    if (gone && gone()) return Fail(ErrorCode::kCancelled, "the client disconnected");
    const auto one = Score(text);
    if (!one) return tl::unexpected(one.error());
    scores.push_back(*one);
  }
  return scores;
}

}  // namespace cairn

#endif  // CAIRN_ENGINE_EMBED_RERANKER_H_
