// The embedding and reranking contexts of `cairn serve`.

#ifndef CAIRN_CMD_SERVE_TEXT_MODELS_H_
#define CAIRN_CMD_SERVE_TEXT_MODELS_H_

#include <memory>

#include "api/llama_server/rerank.h"
#include "cmd/serve/base/serve_options.h"
#include "engine/llama/embed/llama_embedder.h"
#include "engine/llama/embed/llama_reranker.h"
#include "engine/llama/llama_engine.h"
#include "routes/routes.h"

namespace cairn {

// Null if not enabled.
struct TextModels {
  std::unique_ptr<LlamaEmbedder> embedder;
  std::unique_ptr<LlamaReranker> reranker;
  std::unique_ptr<const Rerank> rerank;  // uses `reranker`
};

// For an encoder this disables states, on disk too, and enables embeddings, or reranking if the
// model does that, unless `options` enable either. Does nothing for other models.
// kInvalidArgument names a flag that such a model cannot be served with.
Status ServeTextsAlone(const LlamaEngine& engine, ServeOptions* options);

// Creates the contexts that the flags enable and sets them in `served`, together with the
// vocabulary's tokens for /infill. `engine` and `models` outlive `served`; `llama` are the options
// that the model was loaded with.
Status ServeTexts(const ServeOptions& options, const LlamaOptions& llama, const LlamaEngine& engine,
                  TextModels* models, Served* served);

}  // namespace cairn

#endif  // CAIRN_CMD_SERVE_TEXT_MODELS_H_
