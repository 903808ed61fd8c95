#include "cmd/text_models.h"

#include <algorithm>
#include <utility>

#include "engine/llama/model/llama_infill.h"

namespace cairn {
namespace {

// llama-server's name for the pooling of reranker models.
constexpr const char* kRankPooling = "rank";

}  // namespace

Status ServeTexts(const ServeOptions& options, const LlamaOptions& llama, const LlamaEngine& engine,
                  TextModels* models, Served* served) {
  served->infill.tokens = FindInfillTokens(engine);
  served->infill.batch_tokens = std::max<size_t>(llama.batch_tokens, 4);
  served->infill.suffix_first = options.spm_infill;
  const bool ranks = options.reranking || options.pooling == kRankPooling;
  if (ranks) {
    auto reranker = LlamaReranker::Make(engine, llama);
    if (!reranker) return tl::unexpected(reranker.error());
    models->reranker = std::move(*reranker);
    models->rerank = std::make_unique<const Rerank>(&engine, models->reranker.get());
    served->rerank = models->rerank.get();
  }
  if (!options.embeddings || options.pooling == kRankPooling) return {};
  auto embedder = LlamaEmbedder::Make(engine, llama, options.pooling);
  if (!embedder) return tl::unexpected(embedder.error());
  models->embedder = std::move(*embedder);
  served->embedder = models->embedder.get();
  return {};
}

}  // namespace cairn
