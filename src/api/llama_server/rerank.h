// POST /v1/rerank: which documents answer a query best, in Jina's words, or in those of Hugging
// Face's text-embeddings-inference (TEI) where a request has `texts`. Both as llama-server.

#ifndef CAIRN_API_LLAMA_SERVER_RERANK_H_
#define CAIRN_API_LLAMA_SERVER_RERANK_H_

#include <functional>
#include <string>
#include <string_view>

#include "api/api_error.h"
#include "chat/template/special_texts.h"
#include "engine/embed/reranker.h"
#include "engine/engine.h"

namespace cairn {

// Constant after construction; any thread.
class Rerank {
 public:
  // Both outlive it. Where the model has a template for this, it walks over the vocabulary.
  Rerank(const Engine* engine, Reranker* reranker);

  // `query`, and `documents` (texts, or objects with a `text`) or `texts`; `top_n`: so many of the
  // best. `return_documents`, of `texts` `return_text`: the results hold them. A document that is
  // no text, or is too long together with the query, is a 400 that names it. `gone` is asked
  // between two documents: true ends the work.
  ApiResult<std::string> Answer(const std::string& model, std::string_view body,
                                const std::function<bool()>& gone) const;

 private:
  Result<Tokens> PromptOf(const std::string& query, const std::string& document) const;
  Result<Tokens> TemplatePromptOf(const std::string& query, const std::string& document) const;
  // `place` names the document in an error.
  ApiResult<float> Score(const std::string& query, const std::string& document,
                         const std::string& place, size_t* tokens) const;

  const Engine* const engine_;
  Reranker* const reranker_;
  const SpecialTexts specials_;  // empty without a template
};

// `rerank` null: 501 that names the flag.
ApiResult<std::string> RerankBody(const Rerank* rerank, const std::string& model,
                                  std::string_view body, const std::function<bool()>& gone);

}  // namespace cairn

#endif  // CAIRN_API_LLAMA_SERVER_RERANK_H_
