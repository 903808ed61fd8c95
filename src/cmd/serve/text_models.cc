#include "cmd/serve/text_models.h"

#include <algorithm>
#include <string>
#include <utility>

#include "engine/embed/embedding_architectures.h"
#include "engine/llama/llama_infill.h"

namespace cairn {
namespace {

// llama-server's name for the pooling of reranker models.
constexpr const char* kRankPooling = "rank";

bool Ranks(const ServeOptions& options) {
  return options.reranking || options.pooling == kRankPooling;
}

Status CheckWithoutAnswers(const ServeOptions& options) {
  const auto refuse = [](const std::string& flag) {
    return Fail(ErrorCode::kInvalidArgument,
                flag +
                    " cannot be used with this model, which computes vectors or scores of texts "
                    "and writes no answers; leave it out");
  };
  if (!options.draft_model_path.empty()) return refuse("--model-draft");
  if (!options.media.mmproj_path.empty()) return refuse("--mmproj");
  if (options.sleep_idle_s >= 0) return refuse("--sleep-idle-seconds");
  return {};
}

}  // namespace

Status ServeTextsAlone(const LlamaEngine& engine, ServeOptions* options) {
  if (!IsEncoder(engine.info().architecture)) return {};
  if (Status fits = CheckWithoutAnswers(*options); !fits) return fits;
  options->cache_disk_gib = 0;
  options->slot_save_path.clear();
  options->warm = false;
  if (options->embeddings || Ranks(*options)) return {};
  const bool ranks = options->pooling.empty() && LlamaReranker::IsMadeFor(engine);
  (ranks ? options->reranking : options->embeddings) = true;
  return {};
}

Status ServeTexts(const ServeOptions& options, const LlamaOptions& llama, const LlamaEngine& engine,
                  TextModels* models, Served* served) {
  served->infill.tokens = FindInfillTokens(engine);
  served->infill.batch_tokens = std::max<size_t>(llama.batch_tokens, 4);
  served->infill.suffix_first = options.spm_infill;
  const bool ranks = Ranks(options);
  if (ranks) {
    auto reranker = LlamaReranker::Make(engine, llama);
    if (!reranker) return tl::unexpected(reranker.error());
    models->reranker = std::move(*reranker);
    models->rerank = std::make_unique<const Rerank>(&engine, models->reranker.get());
    served->rerank = models->rerank.get();
  }
  if (!options.embeddings || options.pooling == kRankPooling) return {};
  // llama-server's --embeddings is a part of its --reranking.
  if (ranks && options.pooling.empty() && LlamaReranker::IsMadeFor(engine)) return {};
  auto embedder = LlamaEmbedder::Make(engine, llama, options.pooling);
  if (!embedder) return tl::unexpected(embedder.error());
  models->embedder = std::move(*embedder);
  served->embedder = models->embedder.get();
  return {};
}

}  // namespace cairn
