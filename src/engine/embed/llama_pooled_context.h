// LlamaPooledContext: computes one vector of a complete text, in a libllama context of its own that
// is made when the first text comes. For llama_*.cc only.
//
// A text is computed as one ubatch, so it may have as many tokens as --ubatch-size says.
//
// Threads: any, at the same time; texts are processed one after the other.

#ifndef CAIRN_ENGINE_EMBED_LLAMA_POOLED_CONTEXT_H_
#define CAIRN_ENGINE_EMBED_LLAMA_POOLED_CONTEXT_H_

#include <cstddef>
#include <mutex>
#include <vector>

#include "base/result.h"
#include "base/tokens.h"
#include "engine/llama/llama_engine.h"
#include "engine/llama/model/llama_options.h"
#include "engine/llama/model/llama_pointers.h"

namespace cairn {

class LlamaPooledContext {
 public:
  // `engine` must outlive this object; `options` are those it was loaded with. `pooling`: a
  // llama_pooling_type that the model supports, which gives `size` numbers.
  LlamaPooledContext(const LlamaEngine& engine, const LlamaOptions& options, int pooling,
                     size_t size);
  ~LlamaPooledContext();

  size_t size() const { return size_; }
  size_t tokens_max() const { return tokens_max_; }
  // Returns libllama's numbers unchanged. Errors as in Embedder::Embed.
  Result<std::vector<float>> Pool(TokenSpan tokens);

 private:
  Status MakeContext();
  Status Compute(TokenSpan tokens);

  llama_model* const model_;
  const LlamaOptions options_;
  const int pooling_;  // a llama_pooling_type
  const size_t size_;
  const size_t tokens_max_;
  std::mutex mutex_;
  LlamaContextPtr context_;  // nullptr until it is needed; guarded by mutex_
};

}  // namespace cairn

#endif  // CAIRN_ENGINE_EMBED_LLAMA_POOLED_CONTEXT_H_
