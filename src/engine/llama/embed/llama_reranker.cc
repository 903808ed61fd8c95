#include "engine/llama/embed/llama_reranker.h"

#include <gguf.h>
#include <llama.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "engine/embed/embedding_architectures.h"
#include "engine/llama/gguf/gguf_files.h"
#include "engine/llama/gguf/model_metadata.h"

namespace cairn {
namespace {

// The tensors of a classification head, of which a model has at least one. The first file of a
// split model holds only a part of the tensors; then a head is assumed.
bool HasHead(const std::string& path) {
  const std::unique_ptr<gguf_context, GgufDeleter> file(
      gguf_init_from_file(path.c_str(), {/*no_alloc=*/true, /*ctx=*/nullptr}));
  if (file == nullptr) return false;
  const auto has = [&](const char* name) { return gguf_find_tensor(file.get(), name) >= 0; };
  const bool split = gguf_find_key(file.get(), "split.count") >= 0;
  return split || has("cls.weight") || has("cls.output.weight");
}

RerankLayout LayoutOf(const llama_model* model) {
  RerankLayout layout;
  if (const char* text = llama_model_chat_template(model, "rerank")) {
    layout.prompt_template = text;
    return layout;
  }
  const llama_vocab* vocab = llama_model_get_vocab(model);
  const auto add = [](Token token, Tokens* tokens) {
    if (token >= 0) tokens->push_back(token);
  };
  const Token sep = llama_vocab_sep(vocab);
  const Token eos = llama_vocab_eos(vocab) >= 0 ? llama_vocab_eos(vocab) : sep;
  if (llama_vocab_get_add_bos(vocab)) add(llama_vocab_bos(vocab), &layout.before);
  if (llama_vocab_get_add_eos(vocab)) add(eos, &layout.between);
  if (llama_vocab_get_add_sep(vocab)) add(sep, &layout.between);
  if (llama_vocab_get_add_eos(vocab)) add(eos, &layout.after);
  return layout;
}

}  // namespace

Result<std::unique_ptr<LlamaReranker>> LlamaReranker::Make(const LlamaEngine& engine,
                                                           const LlamaOptions& options) {
  const std::string& architecture = engine.info().architecture;
  if (!EmbedsTexts(architecture)) {
    return Fail(ErrorCode::kUnsupported,
                "ranking by models of architecture '" + architecture +
                    "' was not tried, and libllama may abort on it; leave out --reranking");
  }
  const uint32_t classes = llama_model_n_cls_out(engine.model());
  if (classes == 0 || !HasHead(options.model_path)) {
    return Fail(ErrorCode::kUnsupported,
                "'" + options.model_path +
                    "' has no classification head (cls.output.weight), so it cannot rank; serve a "
                    "reranker, such as bge-reranker or Qwen3-Reranker, or leave out --reranking");
  }
  return std::unique_ptr<LlamaReranker>(new LlamaReranker(engine, options, classes));
}

bool LlamaReranker::IsMadeFor(const LlamaEngine& engine) {
  const std::string pooling =
      ModelMetadata(engine.model(), engine.info().architecture + ".pooling_type");
  return pooling == std::to_string(LLAMA_POOLING_TYPE_RANK);
}

LlamaReranker::LlamaReranker(const LlamaEngine& engine, const LlamaOptions& options, size_t classes)
    : layout_(LayoutOf(engine.model())),
      context_(engine, options, LLAMA_POOLING_TYPE_RANK, classes) {}

Result<float> LlamaReranker::Score(TokenSpan tokens) {
  const auto classes = context_.Pool(tokens);
  if (!classes) return tl::unexpected(classes.error());
  return classes->front().front();
}

}  // namespace cairn
