// POST /v1/rerank: ranks documents by relevance to a query, in Jina's format, or in that of Hugging
// Face's text-embeddings-inference (TEI) if the request has `texts`. Both as in llama-server.

#ifndef CAIRN_API_LLAMA_SERVER_RERANK_H_
#define CAIRN_API_LLAMA_SERVER_RERANK_H_

#include <functional>
#include <string>
#include <string_view>

#include "api/api_error.h"
#include "chat/spans/special_texts.h"
#include "engine/embed/reranker.h"
#include "engine/engine.h"

namespace cairn {

// Rerank: scores documents with a reranker model. Constant after construction; any thread.
class Rerank {
 public:
  // Both outlive it. If the model has a rerank template, the constructor walks over the vocabulary.
  Rerank(const Engine* engine, Reranker* reranker);

  // The body has `query` and `documents` (texts, or objects with a `text`) or `texts`. `top_n`
  // limits the number of results; `return_documents`, or `return_text` with `texts`, puts the
  // documents into the results. A document that is not a text, or too long together with the query,
  // is a 400 that names it. Polls `gone` between two documents; true cancels.
  ApiResult<std::string> Answer(const std::string& model, std::string_view body,
                                const std::function<bool()>& gone) const;

  TextCounts counts() const { return reranker_->counts(); }

 private:
  Result<Tokens> PromptOf(const std::string& query, const std::string& document) const;
  Result<Tokens> TemplatePromptOf(const std::string& query, const std::string& document) const;
  // `place` names the document in an error.
  ApiResult<float> Score(const std::string& query, const std::string& document,
                         const std::string& place, size_t* tokens) const;

  const Engine* const engine_;
  Reranker* const reranker_;
  const SpecialTexts specials_;  // empty without a rerank template
};

// If `rerank` is null, returns a 501 that names the flag.
ApiResult<std::string> RerankBody(const Rerank* rerank, const std::string& model,
                                  std::string_view body, const std::function<bool()>& gone);

}  // namespace cairn

#endif  // CAIRN_API_LLAMA_SERVER_RERANK_H_
