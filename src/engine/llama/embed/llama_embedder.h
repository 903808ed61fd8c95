// LlamaEmbedder: an Embedder on libllama. It uses a LlamaEngine's model, with a context of its own
// (engine/llama/embed/llama_pooled_context.h): embeddings cost nothing until the first text comes.

#ifndef CAIRN_ENGINE_LLAMA_EMBED_LLAMA_EMBEDDER_H_
#define CAIRN_ENGINE_LLAMA_EMBED_LLAMA_EMBEDDER_H_

#include <functional>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "engine/embed/embedder.h"
#include "engine/llama/embed/llama_pooled_context.h"
#include "engine/llama/llama_engine.h"
#include "engine/llama/model/llama_options.h"

namespace cairn {

class LlamaEmbedder final : public Embedder {
 public:
  // `engine` must outlive the embedder; `options` are those it was loaded with. `pooling`, how the
  // tokens' vectors become the text's: "mean", "cls" (the first), "last", "none" (all of
  // them are returned), or empty for the model's setting, and the mean if it has none.
  // kInvalidArgument for any other word. kUnsupported if the
  // model ranks, or its architecture is not known to compute embeddings, because libllama would
  // then end the process.
  static Result<std::unique_ptr<LlamaEmbedder>> Make(const LlamaEngine& engine,
                                                     const LlamaOptions& options,
                                                     std::string_view pooling);

  size_t size() const override { return context_.size(); }
  size_t tokens_max() const override { return context_.tokens_max(); }
  bool pools() const override { return context_.pools(); }
  Result<TextVectors> Embed(TokenSpan tokens) override;
  Result<TextVectors> EmbedParts(std::span<const TextPart> parts) override;
  Result<std::vector<TextVectors>> EmbedAll(std::span<const TokenSpan> texts,
                                            const std::function<bool()>& gone) override;
  TextCounts counts() const override { return context_.counts(); }

 private:
  LlamaEmbedder(const LlamaEngine& engine, const LlamaOptions& options, int pooling);

  LlamaPooledContext context_;
};

}  // namespace cairn

#endif  // CAIRN_ENGINE_LLAMA_EMBED_LLAMA_EMBEDDER_H_
