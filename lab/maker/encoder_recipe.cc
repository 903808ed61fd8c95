#include "lab/maker/encoder_recipe.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/text.h"
#include "lab/maker/model_vocabulary.h"

namespace cairn {
namespace {

constexpr uint32_t kEncoderBlock = 32;
constexpr uint32_t kEncoderWidthMax = 4096;
constexpr uint32_t kEncoderLayersMax = 64;
constexpr uint32_t kTrainContextMax = 1U << 17;  // BERT has a row of weights for each position

// llama_pooling_type
constexpr uint32_t kPoolingMean = 1;
constexpr uint32_t kPoolingCls = 2;
constexpr uint32_t kEncoderPoolingRank = 4;

struct Encoder {
  std::string_view name;
  uint32_t pooling = kPoolingMean;  // of the best known models
  bool rms_norm = false;
  bool has_biases = false;
  bool has_head = false;
  uint32_t window_tokens = 0;
  uint32_t experts_every = 0;  // layers; 0: no experts
  // libllama aborts on a model whose layers all have the window.
  uint32_t layers_min = 1;
  uint32_t per_layer_width = 0;   // of what each layer gets of a token; 0: nothing
  uint32_t position_buckets = 0;  // of T5, which counts distances in them
};

const std::array<Encoder, 12>& Encoders() {
  static const std::array<Encoder, 12> table = {{
      {.name = "bert", .pooling = kPoolingCls, .has_biases = true, .has_head = true},
      {.name = "eurobert", .rms_norm = true},
      {.name = "gemma-embedding", .rms_norm = true, .window_tokens = 64, .layers_min = 6},
      {.name = "gemma-embedding2",
       .rms_norm = true,
       .window_tokens = 64,
       .layers_min = 6,
       .per_layer_width = 32},
      {.name = "jina-bert-v2", .has_biases = true, .has_head = true},
      {.name = "jina-bert-v3", .has_biases = true},
      {.name = "llama-embed", .rms_norm = true},
      {.name = "modern-bert", .pooling = kPoolingCls, .has_head = true, .window_tokens = 64},
      {.name = "neo-bert", .pooling = kPoolingCls, .rms_norm = true, .has_head = true},
      {.name = "nomic-bert"},
      {.name = "nomic-bert-moe", .has_biases = true, .experts_every = 2},
      {.name = "t5encoder", .rms_norm = true, .position_buckets = 32},
  }};
  return table;
}

const Encoder* FindEncoder(std::string_view name) {
  for (const Encoder& encoder : Encoders()) {
    if (encoder.name == name) return &encoder;
  }
  return nullptr;
}

ModelShape WithEncoderDefaults(const Encoder& encoder, ModelShape shape) {
  const auto fill = [](uint32_t* size, uint32_t value) {
    if (*size == 0) *size = value;
  };
  fill(&shape.width, 256);
  fill(&shape.layers, std::max(4U, encoder.layers_min));
  fill(&shape.ff, 2 * shape.width);
  fill(&shape.heads, std::max(shape.width / 64, 1U));
  fill(&shape.window_tokens, encoder.window_tokens);
  fill(&shape.train_context_tokens, 512);
  return shape;
}

Status CheckEncoderShape(const Encoder& encoder, const ModelShape& shape) {
  const auto bad = [&](const std::string& size, uint32_t value, const std::string& why) {
    return Fail(ErrorCode::kInvalidArgument,
                size + " " + std::to_string(value) + " does not work: " + why + ".");
  };
  if (shape.width % kEncoderBlock != 0 || shape.width > kEncoderWidthMax) {
    return bad("width", shape.width,
               "it must be a multiple of 32 up to " + std::to_string(kEncoderWidthMax));
  }
  if (shape.ff % kEncoderBlock != 0 || shape.ff > 4 * kEncoderWidthMax) {
    return bad("ff", shape.ff,
               "it must be a multiple of 32 up to " + std::to_string(4 * kEncoderWidthMax));
  }
  if (shape.width % shape.heads != 0 || shape.width / shape.heads % kEncoderBlock != 0) {
    return bad("heads", shape.heads,
               "they must cut the width into heads whose size is a multiple of 32");
  }
  if (shape.layers > kEncoderLayersMax) {
    return bad("layers", shape.layers,
               "at most " + std::to_string(kEncoderLayersMax) + " can be made");
  }
  if (shape.layers < encoder.layers_min) {
    return bad("layers", shape.layers,
               "only layer " + std::to_string(encoder.layers_min) + " has no sliding window");
  }
  if (shape.train_context_tokens > kTrainContextMax) {
    return bad("train context", shape.train_context_tokens,
               "an encoder can have at most " + std::to_string(kTrainContextMax) + " tokens");
  }
  if (encoder.window_tokens == 0 && shape.window_tokens != 0) {
    return bad("window", shape.window_tokens,
               std::string(encoder.name) + " has no sliding window, leave it out");
  }
  if (shape.infill) {
    return Fail(ErrorCode::kInvalidArgument, "an encoder writes nothing, so it cannot infill.");
  }
  if (shape.ranks && !encoder.has_head) {
    return Fail(ErrorCode::kInvalidArgument, "a model that ranks can be made of qwen3, " +
                                                 JoinNames(KnownEncodersThatRank()) + ", not of " +
                                                 std::string(encoder.name) + ".");
  }
  return {};
}

}  // namespace

std::vector<std::string> KnownEncoders() {
  std::vector<std::string> names;
  for (const Encoder& encoder : Encoders()) names.emplace_back(encoder.name);
  return names;
}

std::vector<std::string> KnownEncodersThatRank() {
  std::vector<std::string> names;
  for (const Encoder& encoder : Encoders()) {
    if (encoder.has_head) names.emplace_back(encoder.name);
  }
  return names;
}

bool EncoderWantsTensor(const ModelShape& shape, std::string_view tensor) {
  if (tensor.starts_with("cls.")) return shape.ranks;
  if (tensor.ends_with(".scale") || tensor.ends_with(".input_scale")) return false;
  if (tensor.starts_with("dense_") || tensor == "rope_freqs.weight") return false;
  // EmbeddingGemma 2 has its last projection there, the others what writes text.
  if (tensor == "output.weight") return shape.architecture == "gemma-embedding2";
  // Those of jina-embeddings-v2-base-code, which the other models do without.
  const auto contains = [&](std::string_view part) {
    return tensor.find(part) != std::string_view::npos;
  };
  if (shape.architecture == "jina-bert-v2" &&
      (contains("attn_q_norm") || contains("attn_k_norm") || contains("attn_norm_2"))) {
    return false;
  }
  const bool optional_bias =
      tensor.ends_with(".bias") && !contains("norm") && (contains(".attn_") || contains(".ffn_"));
  return !optional_bias || FindEncoder(shape.architecture)->has_biases;
}

Result<ModelRecipe> MakeEncoderRecipe(const ModelShape& wanted) {
  const Encoder& encoder = *FindEncoder(wanted.architecture);
  const ModelShape shape = WithEncoderDefaults(encoder, wanted);
  if (Status fits = CheckEncoderShape(encoder, shape); !fits)
    return tl::unexpected<Error>(fits.error());
  ModelRecipe recipe;
  recipe.shape = shape;
  recipe.metadata = {
      {"general.architecture", shape.architecture},
      {"general.name", "Synthetic " + shape.architecture},
      {"general.description",
       std::string("Random weights with seed ") + std::to_string(shape.seed) + ", for tests"},
  };
  const auto add = [&](const std::string& key, MetadataValue value) {
    recipe.metadata.emplace_back(shape.architecture + "." + key, std::move(value));
  };
  add("context_length", shape.train_context_tokens);
  add("embedding_length", shape.width);
  add("block_count", shape.layers);
  add("feed_forward_length", shape.ff);
  add("attention.head_count", shape.heads);
  add("attention.causal", false);
  add(encoder.rms_norm ? "attention.layer_norm_rms_epsilon" : "attention.layer_norm_epsilon",
      1e-5F);
  add("rope.freq_base", 1e4F);
  add("pooling_type", shape.ranks ? kEncoderPoolingRank : encoder.pooling);
  if (shape.window_tokens > 0) add("attention.sliding_window", shape.window_tokens);
  if (encoder.per_layer_width > 0) {
    add("embedding_length_per_layer_input", encoder.per_layer_width);
    add("embedding_length_out", shape.width / 2);
  }
  if (encoder.position_buckets > 0) {
    add("attention.relative_buckets_count", encoder.position_buckets);
  }
  if (encoder.experts_every > 0) {
    add("moe_every_n_layers", encoder.experts_every);
    add("expert_count", uint32_t{4});
    add("expert_used_count", uint32_t{2});
  }
  Metadata vocabulary = shape.unigram ? UnigramVocabularyMetadata() : EncoderVocabularyMetadata();
  for (auto& entry : vocabulary) recipe.metadata.push_back(std::move(entry));
  return recipe;
}

}  // namespace cairn
