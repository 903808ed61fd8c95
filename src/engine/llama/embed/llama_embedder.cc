#include "engine/llama/embed/llama_embedder.h"

#include <llama.h>

#include <charconv>
#include <cmath>
#include <span>
#include <utility>

#include "engine/embed/embedding_architectures.h"
#include "engine/llama/gguf/model_metadata.h"

namespace cairn {
namespace {

// Returns the pooling in the model's file, or else the mean.
int PoolingOf(const llama_model* model, const std::string& architecture) {
  const std::string text = ModelMetadata(model, architecture + ".pooling_type");
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
  if (word == "none") {
    // libllama would read as many numbers of each token as the last of its dense layers gives.
    if (llama_model_n_embd_out(model) <= llama_model_n_embd(model)) return LLAMA_POOLING_TYPE_NONE;
    return Fail(ErrorCode::kUnsupported,
                "--pooling none cannot be used with this model, whose last layers take a pooled "
                "vector");
  }
  if (!word.empty()) {
    return Fail(ErrorCode::kInvalidArgument, "--pooling was given '" + std::string(word) +
                                                 "'; it takes none, mean, cls, last or rank");
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
    : context_(engine, options, pooling,
               static_cast<size_t>(llama_model_n_embd_out(engine.model()))) {}

Result<TextVectors> LlamaEmbedder::Embed(TokenSpan tokens) {
  const TextPart whole{tokens};
  return EmbedParts({&whole, 1});
}

Result<TextVectors> LlamaEmbedder::EmbedParts(std::span<const TextPart> parts) {
  auto vectors = context_.Pool(parts);
  if (vectors && pools()) Normalize(vectors->front());
  return vectors;
}

Result<std::vector<TextVectors>> LlamaEmbedder::EmbedAll(std::span<const TokenSpan> texts,
                                                         const std::function<bool()>& gone) {
  auto all = context_.PoolAll(texts, gone);
  if (!all || !pools()) return all;
  for (TextVectors& vectors : *all) Normalize(vectors.front());
  return all;
}

}  // namespace cairn
