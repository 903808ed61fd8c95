// LlamaReranker: a Reranker on libllama, for models with a classification head, such as
// bge-reranker and Qwen3-Reranker.

#ifndef CAIRN_ENGINE_LLAMA_EMBED_LLAMA_RERANKER_H_
#define CAIRN_ENGINE_LLAMA_EMBED_LLAMA_RERANKER_H_

#include <memory>

#include "engine/embed/reranker.h"
#include "engine/llama/embed/llama_pooled_context.h"
#include "engine/llama/llama_engine.h"
#include "engine/llama/model/llama_options.h"

namespace cairn {

class LlamaReranker final : public Reranker {
 public:
  // `engine` must outlive the reranker; `options` are those it was loaded with. kUnsupported if the
  // model has no classification head, or its architecture was not tried, because libllama might
  // then end the process.
  static Result<std::unique_ptr<LlamaReranker>> Make(const LlamaEngine& engine,
                                                     const LlamaOptions& options);

  // Whether the model's file says that it ranks.
  static bool IsMadeFor(const LlamaEngine& engine);

  const RerankLayout& layout() const override { return layout_; }
  size_t tokens_max() const override { return context_.tokens_max(); }
  Result<float> Score(TokenSpan tokens) override;
  TextCounts counts() const override { return context_.counts(); }

 private:
  LlamaReranker(const LlamaEngine& engine, const LlamaOptions& options, size_t classes);

  RerankLayout layout_;
  LlamaPooledContext context_;
};

}  // namespace cairn

#endif  // CAIRN_ENGINE_LLAMA_EMBED_LLAMA_RERANKER_H_
