// Loads what `cairn serve` needs beside the engine (the files that its flags name, and the contexts
// for embeddings and reranking), and logs the facts of the model.

#ifndef CAIRN_CMD_SERVE_SERVED_MODEL_H_
#define CAIRN_CMD_SERVE_SERVED_MODEL_H_

#include <memory>
#include <string>

#include "api/llama_server/rerank.h"
#include "api/service/answer_script.h"
#include "base/log.h"
#include "base/result.h"
#include "base/tokens.h"
#include "chat/template/chat_template.h"
#include "cmd/serve/base/disk_cache.h"
#include "cmd/serve/base/serve_options.h"
#include "cmd/serve/base/server_log.h"
#include "engine/engine.h"
#include "engine/llama/embed/llama_embedder.h"
#include "engine/llama/embed/llama_reranker.h"
#include "engine/llama/llama_engine.h"
#include "routes/routes.h"

namespace cairn {

// Loads the script. Null if `path` is empty. Errors are those of the file or of its content.
Result<std::unique_ptr<const AnswerScript>> ReadScript(const std::string& path);

// Returns the chat template of the flags, or else of the model. One of a flag that cannot be read
// is an error. The model's own is logged and returned as unreadable, because completions,
// embeddings and reranking need none; requests with messages are then refused with the reason.
Result<std::unique_ptr<ChatTemplate>> LoadTemplate(const ServeOptions& options,
                                                   const ModelInfo& info, const LogSink& log);

// The embedding and reranking contexts of `cairn serve`.

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

// The lines of a start that say what the model's memory allows, how it is used, and how much room
// the cache has.

// With --reuse exact: leaves kernels whose bits depend on the batch, and says so. REQUIRES: no
// model is loaded.
void ChooseKernels(const ServerLog& logger, const ServeOptions& options);

// `reuse`: the mode in use, which may differ from the options'.
void LogModelFacts(const ServerLog& logger, const Engine& engine, const ServeOptions& options,
                   const std::string& reuse, const Tokens& message_starts);

// Logs how much memory and disk the cache may take.
void LogCacheBudget(const ServerLog& logger, const ServeOptions& options, const DiskCache& disk);

}  // namespace cairn

#endif  // CAIRN_CMD_SERVE_SERVED_MODEL_H_
