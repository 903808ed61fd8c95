#include "lab/maker/model_recipe.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "lab/maker/encoder_recipe.h"

namespace cairn {
namespace {

ModelShape Shape(const std::string& architecture) {
  ModelShape shape;
  shape.architecture = architecture;
  return shape;
}

template <typename T>
T Value(const ModelRecipe& recipe, const std::string& key) {
  const MetadataValue* value = FindMetadata(recipe.metadata, key);
  if (value == nullptr || !std::holds_alternative<T>(*value)) {
    ADD_FAILURE() << key << (value == nullptr ? " is missing" : " has another type");
    return T();
  }
  return std::get<T>(*value);
}

std::string MessageOf(const ModelShape& shape) {
  const Result<ModelRecipe> recipe = MakeRecipe(shape);
  return recipe ? "no error" : recipe.error().message;
}

TEST(ModelRecipe, KnowsTheArchitecturesOfEveryMemoryClass) {
  const std::vector<std::string> known = KnownArchitectures();
  for (const char* name : {"llama", "qwen35", "lfm2", "gemma3", "mamba2", "falcon-h1"}) {
    EXPECT_NE(std::find(known.begin(), known.end(), name), known.end()) << name;
  }
  EXPECT_TRUE(std::is_sorted(known.begin(), known.end()));
}

TEST(ModelRecipe, UnknownArchitectureListsTheKnownOnes) {
  const Result<ModelRecipe> recipe = MakeRecipe(Shape("qwen99"));
  ASSERT_FALSE(recipe);
  EXPECT_EQ(recipe.error().code, ErrorCode::kNotFound);
  EXPECT_NE(recipe.error().message.find("\"qwen99\""), std::string::npos);
  for (const std::string& name : KnownArchitectures()) {
    EXPECT_NE(recipe.error().message.find(name), std::string::npos) << name;
  }
}

TEST(ModelRecipe, DefaultsNeedNothingButAName) {
  for (const std::string& name : KnownArchitectures()) {
    const Result<ModelRecipe> recipe = MakeRecipe(Shape(name));
    ASSERT_TRUE(recipe) << recipe.error().message;
    EXPECT_EQ(recipe->metadata.front().first, "general.architecture");
    EXPECT_EQ(Value<std::string>(*recipe, "general.architecture"), name);
    EXPECT_EQ(Value<uint32_t>(*recipe, name + ".context_length"), 262144U);
    EXPECT_EQ(Value<uint32_t>(*recipe, name + ".embedding_length"), recipe->shape.width);
    std::set<std::string> keys;
    for (const auto& [key, value] : recipe->metadata) {
      EXPECT_TRUE(keys.insert(key).second) << key << " stands twice in " << name;
    }
  }
}

TEST(ModelRecipe, Qwen35HasOneAttentionLayerInFour) {
  const Result<ModelRecipe> recipe = MakeRecipe(Shape("qwen35"));
  ASSERT_TRUE(recipe);
  EXPECT_EQ(recipe->shape.width, 256U);
  EXPECT_EQ(recipe->shape.layers, 4U);
  EXPECT_EQ(Value<uint32_t>(*recipe, "qwen35.full_attention_interval"), 4U);
  const auto sections = Value<std::vector<int32_t>>(*recipe, "qwen35.rope.dimension_sections");
  ASSERT_EQ(sections.size(), 4U);
  EXPECT_EQ(2 * (sections[0] + sections[1] + sections[2]),
            static_cast<int32_t>(Value<uint32_t>(*recipe, "qwen35.rope.dimension_count")));
}

TEST(ModelRecipe, Gemma3HasLocalAndGlobalLayersAtAnyDepth) {
  ModelShape shape = Shape("gemma3");
  for (const uint32_t layers : {2U, 6U, 13U}) {
    shape.layers = layers;
    const Result<ModelRecipe> recipe = MakeRecipe(shape);
    ASSERT_TRUE(recipe);
    EXPECT_EQ(Value<uint32_t>(*recipe, "gemma3.attention.sliding_window"), 512U);
    const auto local =
        Value<std::vector<uint32_t>>(*recipe, "gemma3.attention.sliding_window_pattern");
    ASSERT_EQ(local.size(), layers);
    EXPECT_EQ(std::set<uint32_t>(local.begin(), local.end()), (std::set<uint32_t>{0, 1}));
  }
}

TEST(ModelRecipe, Lfm2GivesConvolutionLayersNoKvHeads) {
  const Result<ModelRecipe> recipe = MakeRecipe(Shape("lfm2"));
  ASSERT_TRUE(recipe);
  EXPECT_EQ(Value<std::vector<uint32_t>>(*recipe, "lfm2.attention.head_count_kv"),
            (std::vector<uint32_t>{0, 0, 2, 0, 0, 2}));
}

TEST(ModelRecipe, NemotronHHasOneKindALayer) {
  const Result<ModelRecipe> recipe = MakeRecipe(Shape("nemotron_h"));
  ASSERT_TRUE(recipe);
  EXPECT_EQ(Value<std::vector<uint32_t>>(*recipe, "nemotron_h.attention.head_count_kv"),
            (std::vector<uint32_t>{0, 0, 2, 0}));
  EXPECT_EQ(Value<std::vector<uint32_t>>(*recipe, "nemotron_h.feed_forward_length"),
            (std::vector<uint32_t>{0, 512, 0, 512}));
}

TEST(ModelRecipe, ChosenSizesReplaceTheDefaults) {
  ModelShape shape = Shape("gpt-oss");
  shape.width = 512;
  shape.layers = 3;
  shape.ff = 96;
  shape.window_tokens = 64;
  const Result<ModelRecipe> recipe = MakeRecipe(shape);
  ASSERT_TRUE(recipe);
  EXPECT_EQ(Value<uint32_t>(*recipe, "gpt-oss.embedding_length"), 512U);
  EXPECT_EQ(Value<uint32_t>(*recipe, "gpt-oss.block_count"), 3U);
  EXPECT_EQ(Value<uint32_t>(*recipe, "gpt-oss.feed_forward_length"), 96U);
  EXPECT_EQ(Value<uint32_t>(*recipe, "gpt-oss.attention.sliding_window"), 64U);
  // The head size is unchanged.
  EXPECT_EQ(Value<uint32_t>(*recipe, "gpt-oss.attention.head_count"), 8U);
}

TEST(ModelRecipe, AnyMultipleOf32IsAWidth) {
  for (const std::string& name : KnownArchitectures()) {
    for (const uint32_t width : {32U, 64U, 96U, 160U, 320U, 1024U}) {
      ModelShape shape = Shape(name);
      shape.width = width;
      EXPECT_EQ(MessageOf(shape), "no error") << name << " " << width;
    }
  }
}

TEST(ModelRecipe, EncodersLookBothWaysAndPool) {
  EXPECT_TRUE(std::ranges::is_sorted(KnownEncoders()));
  for (const std::string& name : KnownEncoders()) {
    const Result<ModelRecipe> recipe = MakeRecipe(Shape(name));
    ASSERT_TRUE(recipe) << recipe.error().message;
    EXPECT_EQ(Value<std::string>(*recipe, "general.architecture"), name);
    EXPECT_EQ(Value<uint32_t>(*recipe, name + ".context_length"), 512U);
    EXPECT_FALSE(Value<bool>(*recipe, name + ".attention.causal"));
    EXPECT_GT(Value<uint32_t>(*recipe, name + ".pooling_type"), 0U);
    std::set<std::string> keys;
    for (const auto& [key, value] : recipe->metadata) {
      EXPECT_TRUE(keys.insert(key).second) << key << " stands twice in " << name;
    }
  }
}

TEST(ModelRecipe, EncodersWithAHeadRank) {
  const std::vector<std::string> ranking = KnownEncodersThatRank();
  for (const std::string& name : KnownEncoders()) {
    ModelShape shape = Shape(name);
    shape.ranks = true;
    const Result<ModelRecipe> recipe = MakeRecipe(shape);
    const bool ranks = std::ranges::find(ranking, name) != ranking.end();
    ASSERT_EQ(recipe.has_value(), ranks) << name;
    if (ranks) {
      EXPECT_EQ(Value<uint32_t>(*recipe, name + ".pooling_type"), 4U);
      EXPECT_TRUE(EncoderWantsTensor(recipe->shape, "cls.weight"));
    }
    EXPECT_FALSE(EncoderWantsTensor(MakeRecipe(Shape(name))->shape, "cls.weight"));
  }
}

TEST(ModelRecipe, AHeadIsOneMoreLayerOfTheFile) {
  for (const std::string& name : KnownArchitecturesWithHeads()) {
    ModelShape shape = Shape(name);
    shape.mtp = true;
    const Result<ModelRecipe> recipe = MakeRecipe(shape);
    ASSERT_TRUE(recipe) << recipe.error().message;
    const MetadataValue* const heads =
        FindMetadata(recipe->metadata, name + ".nextn_predict_layers");
    ASSERT_NE(heads, nullptr);
    EXPECT_EQ(std::get<uint32_t>(*heads), 1U);
    EXPECT_EQ(std::get<uint32_t>(*FindMetadata(recipe->metadata, name + ".block_count")),
              recipe->shape.layers + 1);
  }
  ModelShape shape = Shape("llama");
  shape.mtp = true;
  const Result<ModelRecipe> refused = MakeRecipe(shape);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("glm4moe, qwen35, not for llama"), std::string::npos);
}

TEST(ModelRecipe, SizesThatCannotWorkAreNamed) {
  const auto expect_refused = [](const char* architecture, auto change, const char* size) {
    ModelShape shape = Shape(architecture);
    change(&shape);
    const Result<ModelRecipe> recipe = MakeRecipe(shape);
    ASSERT_FALSE(recipe) << size;
    EXPECT_EQ(recipe.error().code, ErrorCode::kInvalidArgument);
    EXPECT_EQ(recipe.error().message.find(size), 0U) << recipe.error().message;
  };
  expect_refused("llama", [](ModelShape* s) { s->width = 100; }, "width 100");
  expect_refused("llama", [](ModelShape* s) { s->width = 1; }, "width 1");
  expect_refused("llama", [](ModelShape* s) { s->width = 0xFFFFFFE0U; }, "width 4294967264");
  expect_refused("llama", [](ModelShape* s) { s->heads = 3; }, "heads 3");
  expect_refused("llama", [](ModelShape* s) { s->heads = 16; }, "heads 16");
  expect_refused("mamba2", [](ModelShape* s) { s->heads = 32; }, "heads 32");
  expect_refused("llama", [](ModelShape* s) { s->layers = 1000; }, "layers 1000");
  expect_refused("qwen35", [](ModelShape* s) { s->layers = 1; }, "layers 1");
  expect_refused("gemma-embedding", [](ModelShape* s) { s->layers = 5; }, "layers 5");
  expect_refused("nemotron_h", [](ModelShape* s) { s->layers = 2; }, "layers 2");
  expect_refused("llama", [](ModelShape* s) { s->ff = 100; }, "ff 100");
  expect_refused("mamba2", [](ModelShape* s) { s->ff = 64; }, "ff 64");
  expect_refused("llama", [](ModelShape* s) { s->window_tokens = 8; }, "window 8");
  expect_refused("gemma3", [](ModelShape* s) { s->window_tokens = 1U << 20; }, "window 1048576");
  expect_refused("llama", [](ModelShape* s) { s->width = 16384, s->layers = 100; }, "size ");
  expect_refused("bert", [](ModelShape* s) { s->width = 100; }, "width 100");
  expect_refused("bert", [](ModelShape* s) { s->heads = 16; }, "heads 16");
  expect_refused("bert", [](ModelShape* s) { s->window_tokens = 8; }, "window 8");
  expect_refused("bert", [](ModelShape* s) { s->train_context_tokens = 1U << 20; }, "train");
}

}  // namespace
}  // namespace cairn
