#include "engine/llama_embedder.h"

#include <llama.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <span>
#include <utility>

#include "engine/embedding_architectures.h"
#include "engine/llama_log.h"
#include "engine/llama_params.h"

namespace cairn {
namespace {

std::string Metadata(const llama_model* model, const std::string& key) {
  std::array<char, 128> text{};
  const int32_t length = llama_model_meta_val_str(model, key.c_str(), text.data(), text.size());
  return length < 0 ? "" : std::string(text.data());
}

// What the model's file says, or else the mean.
int PoolingOf(const llama_model* model, const std::string& architecture) {
  const std::string text = Metadata(model, architecture + ".pooling_type");
  int pooling = LLAMA_POOLING_TYPE_NONE;
  std::from_chars(text.data(), text.data() + text.size(), pooling);
  const bool known = pooling > LLAMA_POOLING_TYPE_NONE && pooling <= LLAMA_POOLING_TYPE_RANK;
  return known ? pooling : LLAMA_POOLING_TYPE_MEAN;
}

Result<int> ParsePooling(std::string_view word, const llama_model* model,
                         const std::string& architecture) {
  if (word == "mean") return LLAMA_POOLING_TYPE_MEAN;
  if (word == "cls") return LLAMA_POOLING_TYPE_CLS;
  if (word == "last") return LLAMA_POOLING_TYPE_LAST;
  if (!word.empty()) {
    return Fail(ErrorCode::kInvalidArgument,
                "--pooling was given '" + std::string(word) + "'; it takes mean, cls or last");
  }
  const int pooling = PoolingOf(model, architecture);
  if (pooling == LLAMA_POOLING_TYPE_RANK) {
    return Fail(ErrorCode::kUnsupported,
                "this model ranks texts and gives no vectors; without --embeddings it can be "
                "served, or --pooling names another way");
  }
  return pooling;
}

void Normalize(std::span<float> vector) {
  double sum = 0;
  for (const float number : vector) sum += static_cast<double>(number) * number;
  if (sum == 0) return;
  const double length = std::sqrt(sum);
  for (float& number : vector) number = static_cast<float>(number / length);
}

}  // namespace

Result<std::unique_ptr<LlamaEmbedder>> LlamaEmbedder::Make(const LlamaEngine& engine,
                                                           const LlamaOptions& options,
                                                           std::string_view pooling) {
  const std::string& architecture = engine.info().architecture;
  if (!EmbedsTexts(architecture)) {
    return Fail(ErrorCode::kUnsupported,
                "embeddings of architecture '" + architecture +
                    "' were not tried, and libllama may abort on it; without --embeddings the "
                    "model can be served");
  }
  const auto parsed = ParsePooling(pooling, engine.model(), architecture);
  if (!parsed) return tl::unexpected(parsed.error());
  return std::unique_ptr<LlamaEmbedder>(new LlamaEmbedder(engine, options, *parsed));
}

LlamaEmbedder::LlamaEmbedder(const LlamaEngine& engine, const LlamaOptions& options, int pooling)
    : model_(engine.model()),
      options_(options),
      pooling_(pooling),
      size_(static_cast<size_t>(llama_model_n_embd_out(model_))),
      tokens_max_(std::min(engine.piece_tokens_max(), engine.context_tokens())) {}

LlamaEmbedder::~LlamaEmbedder() = default;

Status LlamaEmbedder::MakeContext() {
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
  return Fail(ErrorCode::kNoSpace,
              "libllama cannot make a context for embeddings" + errors.Because());
}

Status LlamaEmbedder::Compute(TokenSpan tokens) {
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
              "libllama could not compute an embedding (" + std::to_string(failed) + ")");
}

Result<std::vector<float>> LlamaEmbedder::Embed(TokenSpan tokens) {
  if (tokens.empty()) return Fail(ErrorCode::kInvalidArgument, "there is no text to embed");
  if (tokens.size() > tokens_max_) {
    return Fail(ErrorCode::kTooLong, "a text of " + std::to_string(tokens.size()) +
                                         " tokens cannot be embedded; at most " +
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
    return Fail(ErrorCode::kInternal, "libllama computed no embedding of this text");
  }
  std::vector<float> vector(numbers, numbers + size_);
  Normalize(vector);
  return vector;
}

}  // namespace cairn
