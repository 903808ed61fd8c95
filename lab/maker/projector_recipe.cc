#include "lab/maker/projector_recipe.h"

#include <array>
#include <string_view>
#include <utility>

#include "base/text.h"

namespace cairn {
namespace {

constexpr uint32_t kProjectorWidthMax = 16384;

// The encoder: small, because a picture has hundreds of patches even in a test.
constexpr uint32_t kEncoderWidth = 64;
constexpr uint32_t kHeads = 2;
constexpr uint32_t kFf = 128;
constexpr uint32_t kLayers = 2;
constexpr uint32_t kPatch = 16;  // pixels of a side
constexpr uint32_t kColours = 3;

// A side of the square pictures that the encoder is made for. Of kinds with pictures of any size it
// only says for how many patches there are position embeddings; they are interpolated.
constexpr uint32_t kImageSize = 128;
constexpr uint32_t kPatchesAcross = kImageSize / kPatch;

constexpr uint32_t kMelBins = 80;
constexpr uint32_t kRecordingPositions = 1500;  // half of the frames of 30 seconds
constexpr uint32_t kProjectorConvKernel = 3;

// How queries, keys and values are stored: in one matrix or three, all with a bias or, as in
// Whisper, the keys without.
enum class Attention { kOneMatrix, kThreeMatrices, kNoKeyBias };

// Collects what a kind adds to the recipe.
class Recipe {
 public:
  // `section`: "vision" or "audio". `letter`: the beginning of its tensors' names.
  Recipe(ProjectorRecipe* recipe, std::string section, std::string letter)
      : recipe_(recipe), section_(std::move(section)), letter_(std::move(letter)) {}

  int64_t width() const { return recipe_->shape.width; }

  void AddKey(std::string_view key, MetadataValue value) {
    recipe_->metadata.emplace_back("clip." + section_ + "." + std::string(key), std::move(value));
  }
  void AddTensor(std::string name, std::vector<int64_t> sizes, size_t summed = 1) {
    recipe_->tensors.push_back({std::move(name), std::move(sizes), summed});
  }
  // A matrix and its bias; of a norm, inputs is 0.
  void AddLayer(const std::string& name, int64_t inputs, int64_t outputs, bool bias = true) {
    if (inputs == 0) {
      AddTensor(name + ".weight", {outputs});
    } else {
      AddTensor(name + ".weight", {inputs, outputs});
    }
    if (bias) AddTensor(name + ".bias", {outputs});
  }

  // A transformer encoder, without what turns a medium into its input.
  void AddEncoder(Attention attention) {
    recipe_->metadata.emplace_back("clip.has_" + section_ + "_encoder", true);
    recipe_->metadata.emplace_back("clip.projector_type", recipe_->shape.kind);
    recipe_->metadata.emplace_back("clip.use_gelu", true);
    AddKey("embedding_length", kEncoderWidth);
    AddKey("feed_forward_length", kFf);
    AddKey("block_count", kLayers);
    AddKey("attention.head_count", kHeads);
    AddKey("attention.layer_norm_epsilon", 1e-6F);
    AddKey("projection_dim", recipe_->shape.width);
    for (uint32_t layer = 0; layer < kLayers; ++layer) AddBlock(layer, attention);
    AddLayer(letter_ + ".post_ln", 0, kEncoderWidth);
  }

  // Pictures as patches. `patches`: how many have a position embedding.
  void AddPatches(int64_t patches, float mean = 0.5F, float deviation = 0.5F) {
    AddKey("image_size", kImageSize);
    AddKey("patch_size", kPatch);
    AddKey("image_mean", std::vector<float>(kColours, mean));
    AddKey("image_std", std::vector<float>(kColours, deviation));
    AddTensor("v.patch_embd.weight", {kPatch, kPatch, kColours, kEncoderWidth}, 3);
    AddTensor("v.patch_embd.bias", {kEncoderWidth});
    AddTensor("v.position_embd.weight", {kEncoderWidth, patches});
  }

 private:
  void AddBlock(uint32_t layer, Attention attention) {
    const std::string block = letter_ + ".blk." + std::to_string(layer) + ".";
    AddLayer(block + "ln1", 0, kEncoderWidth);
    if (attention == Attention::kOneMatrix) {
      AddLayer(block + "attn_qkv", kEncoderWidth, 3 * kEncoderWidth);
    } else {
      const bool key_bias = attention == Attention::kThreeMatrices;
      AddLayer(block + "attn_q", kEncoderWidth, kEncoderWidth);
      AddLayer(block + "attn_k", kEncoderWidth, kEncoderWidth, key_bias);
      AddLayer(block + "attn_v", kEncoderWidth, kEncoderWidth);
    }
    AddLayer(block + "attn_out", kEncoderWidth, kEncoderWidth);
    AddLayer(block + "ln2", 0, kEncoderWidth);
    AddLayer(block + "ffn_up", kEncoderWidth, kFf);
    AddLayer(block + "ffn_down", kFf, kEncoderWidth);
  }

  ProjectorRecipe* const recipe_;
  const std::string section_;
  const std::string letter_;
};

// Qwen3-VL and Qwen3.5: pictures of any size, two by two patches a row, M-RoPE. Two patch
// embeddings, for the two frames of a film; a picture is both.
void AddQwen3Vl(ProjectorRecipe* recipe) {
  Recipe parts(recipe, "vision", "v");
  parts.AddEncoder(Attention::kOneMatrix);
  parts.AddPatches(int64_t{kPatchesAcross} * kPatchesAcross);
  parts.AddTensor("v.patch_embd.weight.1", {kPatch, kPatch, kColours, kEncoderWidth}, 3);
  constexpr uint32_t kMerged = 2;
  constexpr int64_t kInputs = int64_t{kEncoderWidth} * kMerged * kMerged;
  parts.AddKey("spatial_merge_size", kMerged);
  parts.AddLayer("mm.0", kInputs, kInputs);
  parts.AddLayer("mm.2", kInputs, parts.width());
}

// Gemma 3: square pictures, a fixed number of rows, and rows that attend to all others.
void AddGemma3(ProjectorRecipe* recipe) {
  Recipe parts(recipe, "vision", "v");
  parts.AddEncoder(Attention::kThreeMatrices);
  parts.AddPatches(int64_t{kPatchesAcross} * kPatchesAcross);
  // Two by two patches a row, instead of four by four.
  parts.AddKey("projector.scale_factor", uint32_t{2});
  // The matrix is stored transposed.
  parts.AddTensor("mm.input_projection.weight", {parts.width(), kEncoderWidth});
  parts.AddTensor("mm.soft_emb_norm.weight", {kEncoderWidth});
}

// LFM2-VL: pictures of any size, of a large one tiles and an overview, with text between them.
void AddLfm2(ProjectorRecipe* recipe) {
  Recipe parts(recipe, "vision", "v");
  parts.AddEncoder(Attention::kThreeMatrices);
  parts.AddPatches(int64_t{kPatchesAcross} * kPatchesAcross);
  constexpr uint32_t kMerged = 2;
  constexpr int64_t kInputs = int64_t{kEncoderWidth} * kMerged * kMerged;
  parts.AddKey("projector.scale_factor", kMerged);
  parts.AddTensor("mm.input_norm.weight", {kInputs});
  parts.AddTensor("mm.input_norm.bias", {kInputs});
  parts.AddLayer("mm.1", kInputs, kFf);
  parts.AddLayer("mm.2", kFf, parts.width());
}

// Qwen2-Audio: the encoder of Whisper, and the mean of each two of its outputs.
void AddQwen2Audio(ProjectorRecipe* recipe) {
  Recipe parts(recipe, "audio", "a");
  parts.AddEncoder(Attention::kNoKeyBias);
  parts.AddKey("num_mel_bins", kMelBins);
  parts.AddTensor("a.position_embd.weight", {kEncoderWidth, kRecordingPositions});
  parts.AddTensor("a.conv1d.1.weight", {kProjectorConvKernel, kMelBins, kEncoderWidth}, 2);
  parts.AddTensor("a.conv1d.1.bias", {1, kEncoderWidth});
  parts.AddTensor("a.conv1d.2.weight", {kProjectorConvKernel, kEncoderWidth, kEncoderWidth}, 2);
  parts.AddTensor("a.conv1d.2.bias", {1, kEncoderWidth});
  parts.AddLayer("mm.a.fc", kEncoderWidth, parts.width());
}

struct Kind {
  std::string_view name;
  void (*add)(ProjectorRecipe* recipe);
};

constexpr std::array<Kind, 4> kKinds = {{
    {"gemma3", AddGemma3},
    {"lfm2", AddLfm2},
    {"qwen2a", AddQwen2Audio},
    {"qwen3vl_merger", AddQwen3Vl},
}};

}  // namespace

std::vector<std::string> KnownProjectors() {
  std::vector<std::string> names;
  for (const Kind& kind : kKinds) names.emplace_back(kind.name);
  return names;
}

Result<ProjectorRecipe> MakeProjectorRecipe(const ProjectorShape& shape) {
  if (shape.width == 0 || shape.width > kProjectorWidthMax) {
    return Fail(ErrorCode::kInvalidArgument,
                "width " + std::to_string(shape.width) + " does not work: it must be 1 to " +
                    std::to_string(kProjectorWidthMax) + ", the embedding size of the text model.");
  }
  for (const Kind& kind : kKinds) {
    if (kind.name != shape.kind) continue;
    ProjectorRecipe recipe;
    recipe.shape = shape;
    recipe.metadata = {
        {"general.architecture", std::string("clip")},
        {"general.type", std::string("mmproj")},
        {"general.name", "Synthetic " + shape.kind},
        {"general.description",
         "Random weights with seed " + std::to_string(shape.seed) + ", for tests"},
    };
    kind.add(&recipe);
    return recipe;
  }
  return Fail(ErrorCode::kNotFound, "There is no recipe for the projector \"" + shape.kind +
                                        "\"; choose one of " + JoinNames(KnownProjectors()) + ".");
}

}  // namespace cairn
