// LlamaEmbedder: an Embedder on libllama. The same model as a LlamaEngine's, with a context of its
// own that is made when the first text comes: until then embeddings cost nothing.
//
// A text is computed as one micro-batch, so it may have as many tokens as --ubatch-size says.

#ifndef CAIRN_ENGINE_LLAMA_EMBEDDER_H_
#define CAIRN_ENGINE_LLAMA_EMBEDDER_H_

#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "engine/embedder.h"
#include "engine/llama_engine.h"
#include "engine/llama_options.h"
#include "engine/llama_pointers.h"

namespace cairn {

class LlamaEmbedder final : public Embedder {
 public:
  // `engine` outlives the embedder; `options` are those it was loaded with. `pooling`, how the
  // tokens' vectors become the text's: "mean", "cls" (the first), "last", or empty for what the
  // model says, and the mean where it says nothing. kInvalidArgument: another word.
  // kUnsupported: the model ranks, or its architecture is not known to give vectors: asked in
  // vain, libllama would end the process.
  static Result<std::unique_ptr<LlamaEmbedder>> Make(const LlamaEngine& engine,
                                                     const LlamaOptions& options,
                                                     std::string_view pooling);
  ~LlamaEmbedder() override;

  size_t size() const override { return size_; }
  size_t tokens_max() const override { return tokens_max_; }
  Result<std::vector<float>> Embed(TokenSpan tokens) override;

 private:
  LlamaEmbedder(const LlamaEngine& engine, const LlamaOptions& options, int pooling);

  Status MakeContext();
  Status Compute(TokenSpan tokens);

  llama_model* const model_;
  const LlamaOptions options_;
  const int pooling_;  // a llama_pooling_type
  const size_t size_;
  const size_t tokens_max_;
  std::mutex mutex_;
  LlamaContextPtr context_;  // null until it is needed; guarded by mutex_
};

}  // namespace cairn

#endif  // CAIRN_ENGINE_LLAMA_EMBEDDER_H_
