#include "engine/embed/llama_pooled_context.h"

#include <llama.h>

#include <algorithm>
#include <string>

#include "engine/llama/backend/llama_log.h"
#include "engine/llama/model/llama_params.h"

namespace cairn {

LlamaPooledContext::LlamaPooledContext(const LlamaEngine& engine, const LlamaOptions& options,
                                       int pooling, size_t size)
    : model_(engine.model()),
      options_(options),
      pooling_(pooling),
      size_(size),
      tokens_max_(std::min(engine.chunk_tokens_max(), engine.context_tokens())) {}

LlamaPooledContext::~LlamaPooledContext() = default;

Status LlamaPooledContext::MakeContext() {
  LlamaOptions options = options_;
  options.slots = 1;
  auto params = MakeContextParams(options, model_);
  if (!params) return tl::unexpected(params.error());
  params->n_ctx = params->n_batch = params->n_ubatch = static_cast<uint32_t>(tokens_max_);
  params->n_seq_max = 1;
  params->embeddings = true;
  params->pooling_type = static_cast<enum llama_pooling_type>(pooling_);
  const LlamaErrorListener errors(options_.log);
  context_.reset(llama_init_from_model(model_, *params));
  if (context_) return {};
  return Fail(ErrorCode::kNoSpace, "libllama cannot make a context for texts" + errors.Because());
}

Status LlamaPooledContext::Compute(TokenSpan tokens) {
  if (llama_memory_t memory = llama_get_memory(context_.get()); memory != nullptr) {
    llama_memory_clear(memory, true);
  }
  llama_batch batch = llama_batch_init(static_cast<int32_t>(tokens.size()), 0, 1);
  batch.n_tokens = static_cast<int32_t>(tokens.size());
  for (size_t i = 0; i < tokens.size(); ++i) {
    batch.token[i] = tokens[i];
    batch.pos[i] = static_cast<llama_pos>(i);
    batch.n_seq_id[i] = 1;
    batch.seq_id[i][0] = 0;
    batch.logits[i] = 1;
  }
  const int32_t failed = llama_decode(context_.get(), batch);
  llama_batch_free(batch);
  if (failed == 0) return {};
  return Fail(ErrorCode::kInternal,
              "libllama could not compute a vector of this text (" + std::to_string(failed) + ")");
}

Result<std::vector<float>> LlamaPooledContext::Pool(TokenSpan tokens) {
  if (tokens.empty()) return Fail(ErrorCode::kInvalidArgument, "there is no text");
  if (tokens.size() > tokens_max_) {
    return Fail(ErrorCode::kTooLong, "a text of " + std::to_string(tokens.size()) +
                                         " tokens is too long; at most " +
                                         std::to_string(tokens_max_) +
                                         ", or start the server with a larger --ubatch-size");
  }
  const std::lock_guard lock(mutex_);
  if (!context_) {
    if (Status made = MakeContext(); !made) return tl::unexpected(made.error());
  }
  if (Status computed = Compute(tokens); !computed) return tl::unexpected(computed.error());
  const float* numbers = llama_get_embeddings_seq(context_.get(), 0);
  if (numbers == nullptr) {
    return Fail(ErrorCode::kInternal, "libllama computed no vector of this text");
  }
  return std::vector<float>(numbers, numbers + size_);
}

}  // namespace cairn
