#include "lab/maker/model_recipe.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "base/text.h"
#include "lab/maker/encoder_recipe.h"
#include "lab/maker/model_vocabulary.h"

namespace cairn {
namespace {

// The block size of quantised types, into which every matrix row and KV row must divide.
constexpr uint32_t kBlock = 32;
constexpr uint32_t kTrainContextTokens = 262144;
constexpr uint32_t kWidthMax = 16384;
constexpr uint32_t kFfMax = 65536;
constexpr uint32_t kLayersMax = 256;
// Limits memory: a model is in memory twice, as float32, while it is made.
constexpr uint64_t kParametersMax = 4'000'000'000;
constexpr uint32_t kConvKernel = 4;
constexpr uint32_t kStateSize = 64;  // of Mamba layers
constexpr uint32_t kExperts = 4;
constexpr uint32_t kExpertsUsed = 2;

// Collects "ARCH.key" entries.
class Keys {
 public:
  Keys(std::string architecture, Metadata* metadata)
      : prefix_(std::move(architecture) + "."), metadata_(metadata) {}
  void Add(std::string_view key, MetadataValue value) {
    metadata_->emplace_back(prefix_ + std::string(key), std::move(value));
  }

 private:
  std::string prefix_;
  Metadata* metadata_;
};

struct Architecture {
  std::string_view name;
  ModelShape defaults;
  // Every `period`-th layer is of the rare kind: attention among recurrent layers, global among
  // local ones. 1: all layers are alike.
  uint32_t period = 1;
  void (*add_keys)(const ModelShape& shape, uint32_t period, Keys* keys) = nullptr;
  bool has_attention = true;
};

ModelShape Sizes(uint32_t width, uint32_t layers, uint32_t ff, uint32_t heads,
                 uint32_t window_tokens = 0) {
  ModelShape shape;
  shape.width = width;
  shape.layers = layers;
  shape.ff = ff;
  shape.heads = heads;
  shape.window_tokens = window_tokens;
  return shape;
}

// A model with fewer layers than the period still gets one layer of each kind.
bool IsRareLayer(uint32_t layer, uint32_t layers, uint32_t period) {
  return (layer + 1) % std::min(period, layers) == 0;
}

// Returns one value per layer: `rare` where IsRareLayer, else `common`.
std::vector<uint32_t> PerLayer(const ModelShape& shape, uint32_t period, uint32_t rare,
                               uint32_t common) {
  std::vector<uint32_t> values;
  for (uint32_t layer = 0; layer < shape.layers; ++layer) {
    values.push_back(IsRareLayer(layer, shape.layers, period) ? rare : common);
  }
  return values;
}

uint32_t HeadSize(const ModelShape& shape) {
  return shape.width / shape.heads;
}
// Two query heads share a KV head if the count allows it, as in most real models.
uint32_t KvHeads(const ModelShape& shape) {
  return shape.heads % 2 == 0 ? shape.heads / 2 : shape.heads;
}

void AddAttention(const ModelShape& shape, MetadataValue kv_heads, Keys* keys) {
  keys->Add("attention.head_count", shape.heads);
  keys->Add("attention.head_count_kv", std::move(kv_heads));
  keys->Add("attention.key_length", HeadSize(shape));
  keys->Add("attention.value_length", HeadSize(shape));
  keys->Add("rope.dimension_count", HeadSize(shape));
  keys->Add("rope.freq_base", 1e6F);
}

// Mamba layers have twice the width inside, in heads of twice the attention heads' size.
void AddMamba(const ModelShape& shape, Keys* keys) {
  keys->Add("ssm.conv_kernel", kConvKernel);
  keys->Add("ssm.inner_size", 2 * shape.width);
  keys->Add("ssm.state_size", kStateSize);
  keys->Add("ssm.time_step_rank", shape.heads);
  keys->Add("ssm.group_count", uint32_t{1});
}

// The first Mamba has no heads; its time steps come from a projection to kBlock numbers per token.
void AddJambaKeys(const ModelShape& shape, uint32_t period, Keys* keys) {
  AddAttention(shape, PerLayer(shape, period, KvHeads(shape), 0), keys);
  keys->Add("ssm.conv_kernel", kConvKernel);
  keys->Add("ssm.inner_size", 2 * shape.width);
  keys->Add("ssm.state_size", kStateSize);
  keys->Add("ssm.time_step_rank", kBlock);
}

void AddPlainKeys(const ModelShape& shape, uint32_t /*period*/, Keys* keys) {
  AddAttention(shape, KvHeads(shape), keys);
}

// Rotated pairs for time, height and width (M-RoPE); text has the same position in all three.
void AddSections(const ModelShape& shape, Keys* keys) {
  const auto pairs = static_cast<int32_t>(HeadSize(shape) / 2);
  const int32_t third = pairs / 3;
  keys->Add("rope.dimension_sections", std::vector<int32_t>{pairs - 2 * third, third, third, 0});
}

// Keys of vision models; their image encoder is in another file.
void AddVisionKeys(const ModelShape& shape, uint32_t /*period*/, Keys* keys) {
  AddAttention(shape, KvHeads(shape), keys);
  AddSections(shape, keys);
}

void AddQwen35Keys(const ModelShape& shape, uint32_t period, Keys* keys) {
  AddAttention(shape, KvHeads(shape), keys);
  keys->Add("full_attention_interval", std::min(period, shape.layers));
  keys->Add("ssm.conv_kernel", kConvKernel);
  keys->Add("ssm.inner_size", shape.width);
  keys->Add("ssm.state_size", HeadSize(shape));
  keys->Add("ssm.time_step_rank", shape.heads);
  keys->Add("ssm.group_count", KvHeads(shape));
  AddSections(shape, keys);
}

// The first layer is dense, the others choose among experts.
void AddGlm4MoeKeys(const ModelShape& shape, uint32_t /*period*/, Keys* keys) {
  AddAttention(shape, KvHeads(shape), keys);
  keys->Add("leading_dense_block_count", uint32_t{1});
  keys->Add("expert_count", kExperts);
  keys->Add("expert_used_count", kExpertsUsed);
  keys->Add("expert_shared_count", uint32_t{1});
  keys->Add("expert_feed_forward_length", shape.ff);
}

void AddLfm2Keys(const ModelShape& shape, uint32_t period, Keys* keys) {
  AddAttention(shape, PerLayer(shape, period, KvHeads(shape), 0), keys);
  keys->Add("shortconv.l_cache", uint32_t{3});
}

void AddWindowKeys(const ModelShape& shape, uint32_t period, Keys* keys) {
  AddAttention(shape, KvHeads(shape), keys);
  keys->Add("attention.sliding_window", shape.window_tokens);
  keys->Add("attention.sliding_window_pattern", PerLayer(shape, period, 0, 1));
}

void AddGptOssKeys(const ModelShape& shape, uint32_t period, Keys* keys) {
  AddWindowKeys(shape, period, keys);
  keys->Add("expert_count", kExperts);
  keys->Add("expert_used_count", kExpertsUsed);
  keys->Add("expert_feed_forward_length", shape.ff);
}

void AddMamba2Keys(const ModelShape& shape, uint32_t /*period*/, Keys* keys) {
  AddMamba(shape, keys);
}

void AddFalconH1Keys(const ModelShape& shape, uint32_t /*period*/, Keys* keys) {
  AddAttention(shape, KvHeads(shape), keys);
  AddMamba(shape, keys);
}

void AddGraniteHybridKeys(const ModelShape& shape, uint32_t period, Keys* keys) {
  AddAttention(shape, PerLayer(shape, period, KvHeads(shape), 0), keys);
  AddMamba(shape, keys);
  keys->Add("attention.scale", 1.0F / std::sqrt(static_cast<float>(HeadSize(shape))));
  keys->Add("embedding_scale", 1.0F);
  keys->Add("residual_scale", 1.0F);
  keys->Add("logit_scale", 1.0F);
  keys->Add("rope.scaling.finetuned", true);
}

// Layers alternate: Mamba, feed-forward, attention, feed-forward. Each layer is only one of them.
void AddNemotronHKeys(const ModelShape& shape, uint32_t period, Keys* keys) {
  std::vector<uint32_t> kv_heads(shape.layers, 0);
  std::vector<uint32_t> ff(shape.layers, 0);
  for (uint32_t layer = 0; layer < shape.layers; ++layer) {
    if (layer % 2 == 1) ff[layer] = shape.ff;
    if (layer % period == 2) kv_heads[layer] = KvHeads(shape);
  }
  AddAttention(shape, std::move(kv_heads), keys);
  AddMamba(shape, keys);
  keys->Add("attention.layer_norm_epsilon", 1e-5F);
  keys->Add("feed_forward_length", std::move(ff));
}

// In alphabetical order. The sizes are small enough for tests on two cores and large enough for
// every quantised type.
const std::array<Architecture, 14>& Architectures() {
  static const std::array<Architecture, 14> table = {{
      {"falcon-h1", Sizes(256, 4, 512, 4), 1, AddFalconH1Keys},
      {"gemma3", Sizes(256, 6, 768, 4, 512), 6, AddWindowKeys},
      {"glm4moe", Sizes(256, 4, 256, 4), 1, AddGlm4MoeKeys},
      {"gpt-oss", Sizes(256, 4, 256, 4, 128), 2, AddGptOssKeys},
      {"granitehybrid", Sizes(256, 4, 512, 4), 4, AddGraniteHybridKeys},
      {"jamba", Sizes(256, 4, 512, 4), 4, AddJambaKeys},
      {"lfm2", Sizes(256, 6, 768, 4), 3, AddLfm2Keys},
      {"llama", Sizes(256, 4, 768, 4), 1, AddPlainKeys},
      {"mamba2", Sizes(256, 4, 0, 8), 1, AddMamba2Keys, false},
      {"nemotron_h", Sizes(256, 4, 512, 4), 4, AddNemotronHKeys},
      {"qwen2vl", Sizes(256, 4, 768, 4), 1, AddVisionKeys},
      {"qwen3", Sizes(256, 4, 768, 4), 1, AddPlainKeys},
      {"qwen35", Sizes(256, 4, 768, 4), 4, AddQwen35Keys},
      {"qwen3vl", Sizes(256, 4, 768, 4), 1, AddVisionKeys},
  }};
  return table;
}

Result<const Architecture*> FindArchitecture(std::string_view name) {
  for (const Architecture& architecture : Architectures()) {
    if (architecture.name == name) return &architecture;
  }
  return Fail(ErrorCode::kNotFound, "There is no recipe for the architecture \"" +
                                        std::string(name) + "\"; choose one of " +
                                        JoinNames(KnownArchitectures()) +
                                        ", or an encoder: " + JoinNames(KnownEncoders()) + ".");
}

tl::unexpected<Error> BadSize(const std::string& name, uint64_t value, const std::string& wanted) {
  return Fail(ErrorCode::kInvalidArgument,
              name + " " + std::to_string(value) + " does not work: " + wanted + ".");
}

uint64_t ParametersAtMost(const ModelShape& shape) {
  const uint64_t width = shape.width;
  const uint64_t layer = 16 * width * width + 3 * width * shape.ff * kExperts;
  return shape.layers * layer + 2 * width * static_cast<uint64_t>(kVocabularySize);
}

Status CheckLayers(const Architecture& architecture, const ModelShape& shape) {
  // The minimum has a layer of every kind: three layers of Nemotron-H, two of other hybrids.
  const uint32_t least = architecture.name == "nemotron_h" ? 3 : (architecture.period > 1 ? 2 : 1);
  if (shape.layers < least || shape.layers > kLayersMax) {
    return BadSize("layers", shape.layers,
                   std::string(architecture.name) + " needs " + std::to_string(least) + " to " +
                       std::to_string(kLayersMax) + " of them");
  }
  return {};
}

Status CheckWidths(const Architecture& architecture, const ModelShape& shape) {
  const std::string block = std::to_string(kBlock);
  if (shape.width % kBlock != 0 || shape.width > kWidthMax) {
    return BadSize("width", shape.width,
                   "it must be a multiple of " + block + " up to " + std::to_string(kWidthMax));
  }
  // The heads of recurrent states divide twice the width.
  const uint32_t divided = architecture.has_attention ? shape.width : 2 * shape.width;
  if (divided % shape.heads != 0 || divided / shape.heads % kBlock != 0) {
    return BadSize("heads", shape.heads,
                   "they must cut " + std::to_string(divided) + " (" +
                       (architecture.has_attention ? "the width" : "twice the width") +
                       ") into heads whose size is a multiple of " + block);
  }
  if (architecture.defaults.ff != 0 && (shape.ff % kBlock != 0 || shape.ff > kFfMax)) {
    return BadSize("ff", shape.ff,
                   "it must be a multiple of " + block + " up to " + std::to_string(kFfMax));
  }
  return {};
}

Status CheckHead(const ModelShape& shape) {
  const std::vector<std::string> known = KnownArchitecturesWithHeads();
  if (shape.mtp && std::find(known.begin(), known.end(), shape.architecture) == known.end()) {
    return Fail(ErrorCode::kInvalidArgument, "a head for multi-token prediction can be made for " +
                                                 JoinNames(known) + ", not for " +
                                                 shape.architecture + ".");
  }
  if (shape.mtp_right > 1) {
    return Fail(ErrorCode::kInvalidArgument,
                "the share of letters behind which the head is right "
                "is at most 1.");
  }
  return {};
}

Status CheckShape(const Architecture& architecture, const ModelShape& shape) {
  const std::string name(architecture.name);
  if (architecture.defaults.ff == 0 && shape.ff != 0) {
    return BadSize("ff", shape.ff, name + " has no feed-forward layers, leave it out");
  }
  if (architecture.defaults.window_tokens == 0 && shape.window_tokens != 0) {
    return BadSize("window", shape.window_tokens, name + " has no sliding window, leave it out");
  }
  if (shape.window_tokens > shape.train_context_tokens) {
    return BadSize("window", shape.window_tokens,
                   "it must not be longer than the trained context of " +
                       std::to_string(shape.train_context_tokens) + " tokens");
  }
  if (shape.train_context_tokens > 1U << 30) {
    return BadSize("train context", shape.train_context_tokens, "it must be at most 2^30 tokens");
  }
  if (shape.unigram) {
    return Fail(ErrorCode::kInvalidArgument, "only an encoder can have a unigram vocabulary: " +
                                                 JoinNames(KnownEncoders()) + ".");
  }
  if (shape.ranks && name != "qwen3") {
    return Fail(ErrorCode::kInvalidArgument, "a model that ranks can be made of qwen3, " +
                                                 JoinNames(KnownEncodersThatRank()) + ", not of " +
                                                 name + ".");
  }
  if (Status status = CheckHead(shape); !status) return status;
  if (Status status = CheckLayers(architecture, shape); !status) return status;
  if (Status status = CheckWidths(architecture, shape); !status) return status;
  if (ParametersAtMost(shape) > kParametersMax) {
    return BadSize("size", ParametersAtMost(shape),
                   "models are made in memory, with at most " + std::to_string(kParametersMax) +
                       " parameters; choose fewer layers or a smaller width or ff");
  }
  return {};
}

ModelShape WithDefaults(ModelShape shape, const ModelShape& defaults) {
  const auto fill = [](uint32_t* size, uint32_t value) {
    if (*size == 0) *size = value;
  };
  // With a chosen width, the default head size is kept where possible.
  if (shape.heads == 0 && shape.width != 0 && shape.width != defaults.width) {
    const uint32_t head_size = defaults.width / defaults.heads;
    shape.heads = std::max(shape.width / head_size, 1U);
    if (shape.width % head_size != 0 && shape.width >= kBlock) shape.heads = shape.width / kBlock;
  }
  fill(&shape.width, defaults.width);
  fill(&shape.layers, defaults.layers);
  fill(&shape.ff, defaults.ff);
  fill(&shape.heads, defaults.heads);
  fill(&shape.window_tokens, defaults.window_tokens);
  fill(&shape.train_context_tokens, kTrainContextTokens);
  return shape;
}

}  // namespace

const MetadataValue* FindMetadata(const Metadata& metadata, std::string_view key) {
  for (const auto& [name, value] : metadata) {
    if (name == key) return &value;
  }
  return nullptr;
}

std::vector<std::string> KnownArchitectures() {
  std::vector<std::string> names;
  for (const Architecture& architecture : Architectures()) names.emplace_back(architecture.name);
  return names;
}

std::vector<std::string> KnownArchitecturesWithHeads() {
  return {"glm4moe", "qwen35"};
}

Result<ModelRecipe> MakeRecipe(const ModelShape& wanted) {
  const std::vector<std::string> encoders = KnownEncoders();
  if (std::find(encoders.begin(), encoders.end(), wanted.architecture) != encoders.end()) {
    return MakeEncoderRecipe(wanted);
  }
  const Result<const Architecture*> found = FindArchitecture(wanted.architecture);
  if (!found) return tl::unexpected<Error>(found.error());
  const Architecture& architecture = **found;
  const ModelShape shape = WithDefaults(wanted, architecture.defaults);
  if (Status status = CheckShape(architecture, shape); !status) {
    return tl::unexpected<Error>(status.error());
  }

  ModelRecipe recipe;
  recipe.shape = shape;
  recipe.metadata = {
      {"general.architecture", shape.architecture},
      {"general.name", "Synthetic " + shape.architecture},
      {"general.description",
       std::string("Random weights with seed ") + std::to_string(shape.seed) + ", for tests"},
  };
  Keys keys(shape.architecture, &recipe.metadata);
  keys.Add("context_length", shape.train_context_tokens);
  keys.Add("embedding_length", shape.width);
  // libllama counts the head as the last layer.
  keys.Add("block_count", shape.layers + (shape.mtp ? 1 : 0));
  if (shape.mtp) keys.Add("nextn_predict_layers", uint32_t{1});
  keys.Add("vocab_size",
           static_cast<uint32_t>(shape.infill ? kInfillVocabularySize : kVocabularySize));
  keys.Add("attention.layer_norm_rms_epsilon", 1e-5F);
  architecture.add_keys(shape, architecture.period, &keys);
  // Nemotron-H has set its own value per layer.
  const std::string ff_key = shape.architecture + ".feed_forward_length";
  if (FindMetadata(recipe.metadata, ff_key) == nullptr) keys.Add("feed_forward_length", shape.ff);

  if (shape.ranks) {
    constexpr uint32_t kPoolingRank = 4;
    keys.Add("pooling_type", kPoolingRank);
    keys.Add("classifier.output_labels", std::vector<std::string>{"yes", "no"});
    recipe.metadata.emplace_back("tokenizer.chat_template.rerank",
                                 std::string(SyntheticRerankTemplate()));
  }
  for (auto& entry : VocabularyMetadata(shape.infill)) recipe.metadata.push_back(std::move(entry));
  return recipe;
}

}  // namespace cairn
